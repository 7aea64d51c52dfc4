"""`%perflab part3` in a notebook: the checks that grade, run on the notebook as it was saved."""

from __future__ import annotations

import atexit
import secrets
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from autograder.course import Course, find_root
from autograder.errors import UserError
from autograder.grade import Session
from autograder.model import Result
from autograder.nbgrader.cells import Bundle, bundle
from autograder.practice import check_folder, open_session

MISSED = ("failed", "partial", "skipped", "error")


def load_ipython_extension(shell: Any) -> None:
    """Answer %load_ext autograder.nbgrader.magic."""
    shell.register_magic_function(perflab, magic_name="perflab")


def perflab(line: str) -> None:
    """Check one part, or all of the lab: %perflab part3."""
    from IPython.display import display

    try:
        result = checked(line.strip(), Path.cwd())
    except UserError as error:
        raise NotPassed(str(error)) from None
    display(Shown(result))
    missed = [check.id for part in result.parts for check in part.checks if check.outcome in MISSED]
    if missed:
        raise NotPassed(f"not passed yet: {', '.join(missed)}")


class NotPassed(Exception):  # noqa: N818 a verdict is no error
    """Marks the cell as failed, for `nbgrader validate` too: one line instead of a traceback."""

    def _render_traceback_(self) -> list[str]:
        return [f"perflab: {self}"]


class Shown:
    """A result as Jupyter shows it: a table, or text where no table can be shown."""

    def __init__(self, result: Result) -> None:
        """Keep what is to be shown."""
        self.result = result

    def _repr_mimebundle_(self, **_: Any) -> Bundle:
        last = self.result.parts[-1]
        found = [bundle(p.id, p.checks, self.result.notes if p is last else ()) for p in self.result.parts]
        return {kind: "\n".join(one[kind] for one in found) for kind in found[0]}


def checked(line: str, folder: Path) -> Result:
    """Grade what is on disk, and say of which moment that is."""
    course, session = _opened()
    result = check_folder(folder, course, session, line or None, secrets.randbits(48))
    saved = [_saved(folder / f"{part.id}.ipynb") for part in result.parts]
    return replace(result, notes=(*result.notes, *filter(None, saved)))


def _saved(file: Path) -> str:
    if not file.is_file():
        return ""
    when = datetime.fromtimestamp(file.stat().st_mtime).astimezone()
    return f"{file.name} as it was saved at {when:%H:%M:%S}"


@cache
def _opened() -> tuple[Course, Session]:
    """Open one session for the whole kernel: its warm worker is what makes the second call quick."""
    stack, course = ExitStack(), Course(find_root())
    atexit.register(stack.close)
    return course, stack.enter_context(open_session(course))
