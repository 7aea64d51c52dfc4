"""An nbgrader course of one toy part, made by the real nbgrader in this process, and a class that hands in notebooks."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from autograder.course.cut_solutions import strip_code
from autograder.grading.kit import Kit, Session
from autograder.handed_in.notebook import Released
from autograder.model import Job, Observation
from autograder.nbgrader.release import CONFIG, settings
from autograder.nbgrader.source_notebook import Json, code_cell, notebook
from tests.toy import CSV, good, toy_kit, toy_session

LAB, PART = "toy", "part1_toy"
OURS = {"lab": LAB, "version": "1"}
SOURCE = '''# %% [markdown]
# # Part 1: toy

# %%
import math

# %%
def work():
    """Return a positive number."""
    # TODO: return one.
    ### BEGIN SOLUTION
    the_secret_of_the_reference = 2.0
    return the_secret_of_the_reference
    ### END SOLUTION
'''
TEMPLATE = strip_code(SOURCE, PART)


def kit() -> Kit:
    made = toy_kit()
    return Kit(
        made.lab, made.config, made.given, made.baseline, Released("1", {f"{PART}.py": TEMPLATE})
    )


COURSE = SimpleNamespace(kit=lambda lab: kit())


def worker(job: Job) -> Observation:
    """Answer as a worker would whose student's code is this; nothing is executed."""
    if job.side == "baseline":
        return good(job.probe)
    source = job.files[f"{PART}.py"].decode()
    for sign, ended, words in [
        ("NotImplementedError", "raised", "NotImplementedError: work is not written yet"),
        ("while True", "timeout", "no answer within 30 s"),
        ("os._exit", "crash", "the process ended with status 0"),
    ]:
        if sign in source:
            return Observation(job.probe, ended, error=words)  # type: ignore[arg-type]
    found = re.findall(r"return (-?[\d.]+)", source)
    return good(job.probe, float(found[-1]) if found else 0.0)


def session() -> Session:
    return toy_session(worker)


def source_notebook() -> Json:
    made = kit()
    part = made.lab.parts[0]
    return notebook(part, made.config.parts[part.id], SOURCE, {}, OURS)


def make(root: Path) -> None:
    """Write the course folder, as `perflab release` does."""
    home = root / "source" / LAB
    home.mkdir(parents=True)
    (home / f"{PART}.ipynb").write_text(json.dumps(source_notebook()))
    (root / CONFIG).write_text(settings(root))


def nbgrader(root: Path, *arguments: str) -> int:
    """Run one command of nbgrader; its exit status."""
    from jupyter_core.application import NoStart
    from nbgrader.apps import NbGraderApp

    with contextlib.chdir(root):
        app = NbGraderApp.instance()
        try:
            app.initialize([*arguments, "--log-level=CRITICAL"])
            app.start()
        except NoStart:  # how a subcommand says that it is done
            return 0
        except SystemExit as left:
            return int(left.code or 0)
        finally:
            NbGraderApp.clear_instance()
            type(app.subapp).clear_instance()
    raise AssertionError("nbgrader did not say how it ended")


def said(patch: pytest.MonkeyPatch) -> list[str]:
    """Gather what nbgrader's log will say of anybody's points."""
    lines: list[str] = []

    def warning(logger: Any, form: str, *values: Any, **_: Any) -> None:
        lines.extend([form % values] if form == "%s: %s" else [])

    patch.setattr(logging.Logger, "warning", warning)
    patch.setattr(logging.LoggerAdapter, "warning", warning)
    return lines


@contextlib.contextmanager
def gradebook(root: Path) -> Iterator[Any]:
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{root}/gradebook.db", "perflab") as book:
        yield book


def released(root: Path) -> Json:
    found: Json = json.loads((root / "release" / LAB / f"{PART}.ipynb").read_text())
    return found


def written(nb: Json, body: str) -> Json:
    """Fill the student's cell in."""
    for cell in nb["cells"]:
        if cell["id"] == "work":
            cell["source"] = f"def work():\n    {body}\n"
    return nb


def canary(marker: Path) -> Json:
    """Make a cell that leaves a file behind if anything ever executes it."""
    return code_cell("canary", f"open({os.fspath(marker)!r}, 'w').close()")


def hand_in(root: Path, student: str, nb: Json | str, **files: bytes) -> None:
    home = root / "submitted" / student / LAB
    home.mkdir(parents=True, exist_ok=True)
    (home / f"{PART}.ipynb").write_text(nb if isinstance(nb, str) else json.dumps(nb))
    for name, data in {"table__csv": CSV, **files}.items():
        (home / name.replace("__", ".")).write_bytes(data)
