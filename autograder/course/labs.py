"""The labs that are there, by name: those that come with perflab, and a course's own."""

from __future__ import annotations

import importlib
import math
import pkgutil

from autograder.errors import CourseError, nearest
from autograder.lab import Lab, load_part
from autograder.part_name import number


def load_lab(name: str) -> Lab:
    """Import every part of a lab.

    A wrong declaration is an error here and not while grading.
    """
    labs = _modules("autograder.labs")
    if name not in labs:
        raise CourseError(f"there is no lab '{name}'{nearest(name, labs)}; labs: {', '.join(labs)}")
    package = f"autograder.labs.{name}"
    modules = sorted(_modules(package), key=_place)
    lab = Lab(name, tuple(load_part(f"{package}.{module}") for module in modules))
    problems = [problem for part in lab.parts for problem in part.problems()]
    if problems:
        raise CourseError(f"lab {name}: " + "; ".join(problems))
    return lab


def _modules(package: str) -> list[str]:
    path = importlib.import_module(package).__path__
    return [module.name for module in pkgutil.iter_modules(path)]


def _place(name: str) -> tuple[bool, float, str]:
    """Parts come by their numbers; a bonus comes last."""
    position = number(name)
    return name.startswith("bonus"), math.inf if position is None else position, name
