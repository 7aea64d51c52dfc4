"""`perflab sync`: results straight into a gradebook, without nbgrader's own run; safe to do again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.batch.store import HANDED_IN, RESULT
from autograder.errors import NotGradedError, ReadError, SubmissionError, UserError
from autograder.handed_in import submission
from autograder.handed_in.notebook import OURS
from autograder.model import PartResult, Result, Submission
from autograder.nbgrader import gradebook, late
from autograder.nbgrader.cells import show
from autograder.nbgrader.results import read_by_a_machine
from autograder.nbgrader.source import PYTHON, code_cell
from autograder.results import standing
from autograder.results.standing import Rules

MADE = {"made": "of files"}


@dataclass(frozen=True)
class Synced:
    """What became of one result."""

    student: str
    problem: str = ""
    moved: tuple[str, ...] = ()
    """What moved in the gradebook and why, in lines."""
    late: str = ""
    """What lateness takes, or why that is not known."""


def sync(
    folder: Path,
    url: str,
    *,
    assignment: str = "",
    add_students: bool,
    feedback: Path | None,
    rules: Rules | None = None,
) -> Iterator[Synced]:
    """Write every result below *folder*; one that cannot be written is named, and the others go on."""
    files = sorted(folder.glob(f"*/{RESULT}"))
    if not files:
        raise UserError(
            f"{folder}: no */{RESULT} here; give the folder that `perflab grade --out` wrote"
        )
    with _open(url) as book, gradebook.one_writer(book):
        for file in files:
            try:
                result = read_by_a_machine(standing.load(file))
                moved = _sync_one(book, assignment or result.lab, result, add_students=add_students)
                taken = late.take(
                    book,
                    assignment or result.lab,
                    result.submission,
                    result,
                    folder,
                    rules or Rules(),
                )
                if feedback:
                    _write_notebooks(book, assignment or result.lab, result, file.parent, feedback)
                yield Synced(result.submission, moved=tuple(moved), late=taken)
            except (NotGradedError, ReadError) as problem:
                book.db.rollback()
                yield Synced(file.parent.name, str(problem))


def _open(url: str) -> Any:
    from nbgrader.api import Gradebook
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import SQLAlchemyError

    try:
        parsed = make_url(url)
        if parsed.drivername == "sqlite" and not Path(parsed.database or "").is_file():
            raise UserError(
                f"--gradebook {url}: there is no such file; run nbgrader generate_assignment first"
            )
        waiting = (
            {"timeout": "60"} if parsed.drivername == "sqlite" else {}
        )  # seconds, where another writes
        return Gradebook(
            parsed.update_query_dict(waiting).render_as_string(hide_password=False), "perflab"
        )
    except SQLAlchemyError as error:
        words = str(error).partition("\n")[0]
        raise UserError(
            f"--gradebook: {words}; write sqlite:////path/gradebook.db or postgresql://..."
        ) from None


def _sync_one(book: Any, assignment: str, result: Result, *, add_students: bool) -> list[str]:
    from nbgrader.api import MissingEntry

    try:
        book.find_assignment(assignment)
    except MissingEntry:
        raise UserError(
            f"the gradebook has no assignment '{assignment}': nbgrader generate_assignment first"
        ) from None
    try:
        book.find_student(result.submission)
    except MissingEntry:
        if not add_students:
            raise NotGradedError(
                "no such student in the gradebook; --add-students adds them"
            ) from None
        book.add_student(result.submission)
    return gradebook.record(book, assignment, result.submission, result)


def _write_notebooks(book: Any, assignment: str, result: Result, home: Path, to: Path) -> None:
    """Write what `nbgrader generate_feedback` starts from; in what `nbgrader autograde` wrote, only the verdicts."""
    handed_in = _kept(home, result)
    for part in result.parts:
        target = to / result.submission / assignment / f"{part.id}.ipynb"
        notebook = _autograded(target)
        if notebook is None:
            known = gradebook.known_cells(book.find_notebook(part.id, assignment))
            cells = [*_code_cells(handed_in, part), *(known[name] for name in _order(known, part))]
            metadata = {"kernelspec": PYTHON, OURS: MADE}
            notebook = {"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": cells}
        show(notebook["cells"], part, result.notes)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)  # nbgrader leaves it read-only
        target.write_text(json.dumps(notebook, indent=1), encoding="utf-8")


def _autograded(file: Path) -> Any:
    """Read a notebook that nbgrader wrote, with the student's own cells; nothing where there is none, or ours."""
    found = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else None
    return None if found is None or found["metadata"].get(OURS) == MADE else found


def _kept(home: Path, result: Result) -> Submission:
    if not (kept := home / HANDED_IN).is_file():
        return Submission(result.submission, result.submission_sha256, {})
    try:
        return submission.unpacked(
            kept, result.submission, [f"{part.id}.py" for part in result.parts]
        )
    except SubmissionError as problem:
        raise NotGradedError(f"{kept}: cannot be read: {problem}; grade it again") from None


def _code_cells(handed_in: Submission, part: PartResult) -> Sequence[Any]:
    source = handed_in.files.get(f"{part.id}.py")
    return [] if source is None else [code_cell("handed-in", source.decode(errors="replace"))]


def _order(known: Any, part: PartResult) -> Sequence[str]:
    ours = [name for name in ("practice",) if name in known]
    solutions = sorted(
        name for name, cell in known.items() if cell["metadata"]["nbgrader"]["solution"]
    )
    return [*ours, *solutions, *(check.id for check in part.checks)]
