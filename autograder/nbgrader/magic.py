"""`%perflab part3` in a notebook.

The checks that grade, run on the notebook as it was saved.
"""

from __future__ import annotations

import atexit
import secrets
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from autograder.course import Course, find_root
from autograder.errors import UserError, nearest
from autograder.grading.kit import Session
from autograder.grading.part import PartGrader
from autograder.grading.session import open_session
from autograder.handed_in import submission
from autograder.model import CheckResult
from autograder.nbgrader.verdict_cells import Bundle, bundle
from autograder.student.practice import lab_of

MISSED = ("failed", "partial", "skipped", "error")


def load_ipython_extension(shell: Any) -> None:
    """Answer %load_ext autograder.nbgrader.magic."""
    shell.register_magic_function(perflab, magic_name="perflab")


def perflab(line: str) -> None:
    """Check a part or one check of it: %perflab part3, %perflab part3_amp.follows_fp32."""
    from IPython.display import display

    try:
        shown = checked(line.strip(), Path.cwd())
    except UserError as error:
        raise NotPassed(str(error)) from None
    display(shown)
    if missed := [check.id for check in shown.checks if check.outcome in MISSED]:
        raise NotPassed(f"not passed yet: {', '.join(missed)}")


class NotPassed(Exception):  # noqa: N818 a verdict is no error
    """Marks the cell as failed, for `nbgrader validate` too.

    One line instead of a traceback.
    """

    def _render_traceback_(self) -> list[str]:
        return [f"perflab: {self}"]


@dataclass(frozen=True)
class Shown:
    """Verdicts as Jupyter shows them: a table, or text where no table can be shown."""

    part_id: str
    checks: Sequence[CheckResult]
    notes: Sequence[str]

    def _repr_mimebundle_(self, **_: Any) -> Bundle:
        return bundle(self.part_id, self.checks, self.notes)


def checked(line: str, folder: Path) -> Shown:
    """Judge what is on disk; what was not changed since is not run again."""
    course, session = _opened()
    kit = course.kit(lab_of(folder, course))
    wanted, _, only = line.partition(".")
    if not wanted:
        raise UserError("%perflab: name a part, such as %perflab " + kit.lab.parts[0].id)
    part = kit.lab.part(wanted)
    if only and only not in part.checks:
        raise UserError(f"{part.id} has no check '{only}'{nearest(only, part.checks)}")
    handed_in = submission.load(folder, kit.lab.files, released=kit.released)
    if (part.id, handed_in.sha256) not in _graders:
        _graders.clear()
        grader = PartGrader(part, handed_in, kit, session, secrets.randbits(48))
        _graders[part.id, handed_in.sha256] = grader
    grader = _graders[part.id, handed_in.sha256]
    if only:
        return Shown(part.id, [grader.check(only)], ())
    notes = (*handed_in.notes, *_saved(folder / f"{part.id}.ipynb"))
    return Shown(part.id, grader.result().checks, notes)


def _saved(file: Path) -> Iterator[str]:
    if file.is_file():
        when = datetime.fromtimestamp(file.stat().st_mtime).astimezone()
        yield f"{file.name} as it was saved at {when:%H:%M:%S}"


_graders: dict[tuple[str, str], PartGrader] = {}


@cache
def _opened() -> tuple[Course, Session]:
    """Open one session for the whole kernel.

    Its warm worker is what makes the second call quick.
    """
    stack = ExitStack()
    course = Course(find_root())
    atexit.register(stack.close)
    return course, stack.enter_context(open_session(course.config.tier))
