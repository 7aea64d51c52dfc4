"""One result into nbgrader's gradebook: all or nothing. What is owed is left to a person; a person's score stays."""

from __future__ import annotations

import fcntl
import html
import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from autograder.errors import NotGradedError
from autograder.model import CheckResult, PartResult, Result
from autograder.nbgrader.source import code_cell, nbgrader_metadata, text_cell
from autograder.report.words import clean, points

LOCK = 7_370_616  # the advisory lock that writers of a PostgreSQL gradebook take


@contextmanager
def one_writer(gradebook: Any) -> Iterator[None]:
    """Wait until no other process of perflab writes to this gradebook."""
    if gradebook.engine.dialect.name == "postgresql":
        from sqlalchemy import text

        with gradebook.engine.connect() as connection:
            connection.execute(text(f"select pg_advisory_lock({LOCK})"))
            try:
                yield
            finally:
                connection.execute(text(f"select pg_advisory_unlock({LOCK})"))
        return
    with Path(f"{gradebook.engine.url.database}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def record(
    gradebook: Any,
    assignment: str,
    student: str,
    result: Result,
    parts_said: Collection[str] | None = None,
) -> list[str]:
    """Write the scores and a comment of every part; a gradebook that does not fit the result is left as it was.

    Returns what moved and why, in lines; nothing for whoever had no verdict there before. Said of these parts only:
    where a notebook is missing, `nbgrader autograde` has just put a zero in the place of what we wrote.
    """
    submission = gradebook.update_or_create_submission(assignment, student)
    parts = {part.id: part for part in result.parts}
    if missing := {notebook.name for notebook in submission.notebooks} ^ set(parts):
        mend = f"run nbgrader generate_assignment {assignment} --force"
        raise NotGradedError(f"'{min(missing)}' is not a part of both; {mend}")
    pairs = [(notebook, parts[notebook.name]) for notebook in submission.notebooks]
    for notebook, part in pairs:
        _agree(notebook, part, assignment)
    said = [
        (notebook, part) for notebook, part in pairs if parts_said is None or part.id in parts_said
    ]
    left, lines, before = result.made_up, list[str](), _total(said)
    known = any(grade.auto_score is not None for notebook, _ in said for grade in notebook.grades)
    for notebook, part in pairs:
        moves: list[str] = []
        checks = {check.id: check for check in part.checks}
        for grade in notebook.grades:
            if part.bonus:
                counted = min(left, checks[grade.name].points)
                moves += _moved(
                    part, grade.name, grade.extra_credit or 0.0, counted, "as extra credit"
                )
                grade.extra_credit = counted
                left -= counted
            moves += _settle(grade, checks[grade.name], part)
        lines += moves if (notebook, part) in said else []
        counts = sum(grade.extra_credit or 0 for grade in notebook.grades) if part.bonus else 0.0
        _comment(notebook, summary(part, result.notes, counts))
    after = _total(pairs)
    before += after - _total(said)
    gradebook.db.commit()
    return [f"{points(before)} -> {points(after)} points", *lines] if known and lines else []


def unsettle(gradebook: Any, assignment: str, student: str, reason: str) -> None:
    """Take back what stands there without a verdict behind it: no zero, no old score; a person's score stays."""
    from nbgrader.api import MissingEntry

    with suppress(MissingEntry):
        for notebook in gradebook.find_submission(assignment, student).notebooks:
            for grade in notebook.grades:
                grade.auto_score, grade.needs_manual_grade = None, True
            _comment(notebook, f"Not graded: {_plain(reason)}")
        gradebook.db.commit()


def known_cells(notebook: Any) -> dict[str, Any]:
    """Every cell that nbgrader knows of, as it was released."""
    worth = {cell.name: cell.max_score for cell in [*notebook.grade_cells, *notebook.task_cells]}
    kinds = {
        kind: {cell.name for cell in getattr(notebook, f"{kind}_cells")}
        for kind in ("grade", "solution", "task")
    }
    found = {}
    for cell in notebook.source_cells:
        role = {
            **{kind: cell.name in names for kind, names in kinds.items()},
            "locked": cell.locked,
        }
        make = code_cell if cell.cell_type == "code" else text_cell
        made = make(cell.name, cell.source)
        made["metadata"]["nbgrader"] = {
            **nbgrader_metadata(cell.name, cell.cell_type, role, worth.get(cell.name)),
            "checksum": cell.checksum,
        }
        found[cell.name] = made
    return found


def summary(part: PartResult, notes: tuple[str, ...], counts: float = 0.0) -> str:
    """Sum a part up, in Markdown in which nothing of a student's can be markup; of a bonus so many points count."""
    owed = sum(check.owed for check in part.checks)
    waiting = f", {points(owed)} not settled yet" if owed else ""
    if part.bonus:
        waiting = (
            f" that need not be won; {points(counts)} of them count, where other parts lost points"
        )
    first = f"{points(part.score)} of {points(part.max_score)} points{waiting}; each check says why in its own cell."
    return "\n\n".join([first, *(f"Note: {_plain(note)}" for note in notes)])


def _agree(notebook: Any, part: PartResult, assignment: str) -> None:
    """Refuse to write into cells that are worth something else than the result says."""
    there = {grade.name: grade.max_score for grade in notebook.grades}
    here = {check.id: 0 if part.bonus else check.max_points for check in part.checks}
    for name in sorted(there.keys() | here.keys()):
        if there.get(name) != here.get(name):
            found = f"{there.get(name, 'no')} points in the gradebook, {here.get(name, 'no')} in the result"
            mend = f"release the lab again, then nbgrader generate_assignment {assignment} --force"
            raise NotGradedError(f"{part.id}.{name}: {found}; {mend}")


def _settle(grade: Any, check: CheckResult, part: PartResult) -> list[str]:
    auto, before = 0.0 if part.bonus else None if check.owed else check.points, grade.auto_score
    grade.auto_score = auto
    if grade.manual_score is None:
        grade.needs_manual_grade = auto is None
    else:  # who scored it by hand looks again when the verdict moved
        grade.needs_manual_grade = grade.needs_manual_grade or before != auto
    stays = (
        ""
        if grade.manual_score is None
        else f"; the {points(grade.manual_score)} that a person gave stay"
    )
    why = ", ".join(filter(None, (check.measured, check.why or check.reason)))
    return _moved(part, check.id, before, auto, f"({check.outcome}: {why}){stays}")


def _moved(
    part: PartResult, name: str, before: float | None, after: float | None, why: str
) -> list[str]:
    said = " -> ".join("open" if score is None else points(score) for score in (before, after))
    return [clean(f"{part.id}.{name}: {said} {why}").replace("\n", " ")] if before != after else []


def _total(pairs: Iterable[tuple[Any, PartResult]]) -> float:
    """Add up as nbgrader does: a person's score before ours, and extra credit."""
    grades = [grade for notebook, _ in pairs for grade in notebook.grades]
    scores = [
        grade.auto_score if grade.manual_score is None else grade.manual_score for grade in grades
    ]
    extra = [
        grade.extra_credit or 0
        for grade, score in zip(grades, scores, strict=True)
        if score is not None
    ]
    return float(sum(score or 0 for score in scores) + sum(extra))


def _comment(notebook: Any, text: str) -> None:
    """Under the first function that students wrote; a cell that a person grades keeps its comments for that person."""
    graded = {grade.name for grade in notebook.grades}
    for comment in sorted(
        notebook.comments, key=lambda comment: (comment.name in graded, comment.name)
    )[:1]:
        comment.auto_comment = text


def _plain(text: str) -> str:
    """Show it as it is: what students name ends up in pages of instructors."""
    return html.escape(
        re.sub(r"([\\`*_\[\]()#!|~])", r"\\\1", clean(text).replace("\n", " ")), quote=False
    )
