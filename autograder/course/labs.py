"""The labs that are there, by name: those that come with perflab, and a course's own."""

from __future__ import annotations

import importlib
import math
import pkgutil

from autograder.errors import CourseError, nearest
from autograder.lab import Lab, load_part, number


def load_lab(name: str) -> Lab:
    """Import every part file of a lab; a wrong declaration is an error here and not while grading."""
    home = importlib.import_module("autograder.labs")
    labs = [module.name for module in pkgutil.iter_modules(home.__path__)]
    if name not in labs:
        raise CourseError(f"there is no lab '{name}'{nearest(name, labs)}; labs: {', '.join(labs)}")
    package = importlib.import_module(f"autograder.labs.{name}")
    names = sorted((module.name for module in pkgutil.iter_modules(package.__path__)), key=_place)
    lab = Lab(name, tuple(load_part(f"autograder.labs.{name}.{module}") for module in names))
    problems = [problem for part in lab.parts for problem in part.problems()]
    if problems:
        raise CourseError(f"lab {name}: " + "; ".join(problems))
    return lab


def _place(name: str) -> tuple[bool, float, str]:
    """Parts come by their numbers; a bonus comes last."""
    at = number(name)
    return name.startswith("bonus"), math.inf if at is None else at, name
