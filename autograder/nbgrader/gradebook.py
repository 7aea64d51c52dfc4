"""One result into nbgrader's gradebook: all or nothing.

What is owed is left to a person; a person's score stays.
"""

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
from autograder.nbgrader.source_notebook import code_cell, nbgrader_metadata, text_cell
from autograder.report.outcome_words import clean, points
from autograder.results.overrides import by_hand

LOCK = 7_370_616
"""The advisory lock that writers of a PostgreSQL gradebook take."""
Pair = tuple[Any, PartResult]
"""A notebook of nbgrader's, and its part."""


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
    reported: Collection[str] | None = None,
) -> list[str]:
    """Write the scores and a comment of every part.

    A gradebook that does not fit the result is left as it was. Returns what moved and why, in
    lines; nothing for a student who had no verdict there before. Only *reported* parts are named
    in them: where a notebook is missing, `nbgrader autograde` has just put a zero in the place of
    what we wrote.
    """
    submission = gradebook.update_or_create_submission(assignment, student)
    pairs = _pairs(submission, result, assignment)
    named = [(notebook, part) for notebook, part in pairs if _is_in(part.id, reported)]
    had_a_verdict = any(
        grade.auto_score is not None for notebook, _ in named for grade in notebook.grades
    )
    before = _total(named)
    lines: list[str] = []
    left = result.made_up
    for notebook, part in pairs:
        moves, counted = _write(notebook, part, left)
        left -= counted
        if _is_in(part.id, reported):
            lines += moves
        _comment(notebook, summary(part, result.notes, counted))
    after = _total(pairs)
    before += after - _total(named)
    gradebook.db.commit()
    if had_a_verdict and lines:
        return [f"{points(before)} -> {points(after)} points", *lines]
    return []


def _is_in(part: str, reported: Collection[str] | None) -> bool:
    return reported is None or part in reported


def _pairs(submission: Any, result: Result, assignment: str) -> list[Pair]:
    """Return each notebook with its part, if the gradebook has what the result has."""
    parts = {part.id: part for part in result.parts}
    unpaired = {notebook.name for notebook in submission.notebooks} ^ set(parts)
    if unpaired:
        raise NotGradedError(
            f"'{min(unpaired)}' is not a part of both; "
            f"run nbgrader generate_assignment {assignment} --force"
        )
    pairs = [(notebook, parts[notebook.name]) for notebook in submission.notebooks]
    for notebook, part in pairs:
        _agree(notebook, part, assignment)
    return pairs


def _write(notebook: Any, part: PartResult, left: float) -> tuple[list[str], float]:
    """Write the scores of one part.

    Return what moved, and how much of *left* a bonus made up.
    """
    checks = {check.id: check for check in part.checks}
    moves: list[str] = []
    total = 0.0
    for grade in notebook.grades:
        check = checks[grade.name]
        if part.bonus:
            counted = min(left - total, check.points)
            before = grade.extra_credit or 0.0
            moves += _moved(part, grade.name, before, counted, "as extra credit")
            grade.extra_credit = counted
            total += counted
        moves += _settle(grade, check, part)
    return moves, total


def unsettle(gradebook: Any, assignment: str, student: str, reason: str) -> None:
    """Take back what stands there without a verdict: no zero, no old score.

    A person's score stays.
    """
    from nbgrader.api import MissingEntry

    with suppress(MissingEntry):
        for notebook in gradebook.find_submission(assignment, student).notebooks:
            for grade in notebook.grades:
                grade.auto_score = None
                grade.needs_manual_grade = True
            _comment(notebook, f"Not graded: {plain(reason)}")
        gradebook.db.commit()


def released_cells(notebook: Any) -> dict[str, Any]:
    """Return every cell that nbgrader has stored, as it was released, by its name."""
    scored = [*notebook.grade_cells, *notebook.task_cells]
    worth = {cell.name: cell.max_score for cell in scored}
    kinds = {
        kind: {cell.name for cell in getattr(notebook, f"{kind}_cells")}
        for kind in ("grade", "solution", "task")
    }
    cells = {}
    for stored in notebook.source_cells:
        name = stored.name
        role = {kind: name in names for kind, names in kinds.items()}
        role["locked"] = stored.locked
        metadata = nbgrader_metadata(name, stored.cell_type, role, worth.get(name))
        make = code_cell if stored.cell_type == "code" else text_cell
        cell = make(name, stored.source)
        cell["metadata"]["nbgrader"] = {**metadata, "checksum": stored.checksum}
        cells[name] = cell
    return cells


def summary(part: PartResult, notes: tuple[str, ...], counted: float = 0.0) -> str:
    """Sum a part up, in Markdown in which nothing of a student's can be markup.

    Of a bonus, *counted* points count.
    """
    owed = sum(check.owed for check in part.checks)
    waiting = f", {points(owed)} not settled yet" if owed else ""
    if part.bonus:
        waiting = (
            f" that need not be won; {points(counted)} of them count, where other parts lost points"
        )
    score = f"{points(part.score)} of {points(part.max_score)} points{waiting}"
    lines = [f"{score}; each check says why in its own cell."]
    lines += [f"Note: {plain(note)}" for note in notes]
    return "\n\n".join(lines)


def _agree(notebook: Any, part: PartResult, assignment: str) -> None:
    """Refuse to write into cells that are worth something else than the result says."""
    stored = {grade.name: grade.max_score for grade in notebook.grades}
    current = {check.id: 0 if part.bonus else check.max_points for check in part.checks}
    for name in sorted(stored.keys() | current.keys()):
        if stored.get(name) != current.get(name):
            raise NotGradedError(
                f"{part.id}.{name}: {stored.get(name, 'no')} points in the gradebook, "
                f"{current.get(name, 'no')} in the result; release the lab again, "
                f"then nbgrader generate_assignment {assignment} --force"
            )


def _settle(grade: Any, check: CheckResult, part: PartResult) -> list[str]:
    before = grade.auto_score
    after = _auto_score(check, part)
    grade.auto_score = after
    stays = ""
    if grade.manual_score is None:
        grade.needs_manual_grade = after is None
    else:  # who scored it by hand looks again when the verdict moved
        grade.needs_manual_grade = grade.needs_manual_grade or before != after
        stays = f"; the {points(grade.manual_score)} that a person gave stay"
    reason = ", ".join(filter(None, (check.measured, check.why or check.reason)))
    reason = by_hand(check) or reason
    return _moved(part, check.id, before, after, f"({check.outcome}: {reason}){stays}")


def _auto_score(check: CheckResult, part: PartResult) -> float | None:
    if part.bonus:
        return 0.0
    return None if check.owed else check.points


def _moved(
    part: PartResult,
    name: str,
    before: float | None,
    after: float | None,
    reason: str,
) -> list[str]:
    if before == after:
        return []
    line = f"{part.id}.{name}: {_score(before)} -> {_score(after)} {reason}"
    return [clean(line).replace("\n", " ")]


def _score(score: float | None) -> str:
    return "open" if score is None else points(score)


def _total(pairs: Iterable[Pair]) -> float:
    """Add up as nbgrader does: a person's score before ours, and extra credit."""
    total = 0.0
    for notebook, _ in pairs:
        for grade in notebook.grades:
            score = grade.auto_score if grade.manual_score is None else grade.manual_score
            if score is not None:
                total += score + (grade.extra_credit or 0)
    return total


def _comment(notebook: Any, text: str) -> None:
    """Comment under the first function that students wrote.

    A cell that a person grades keeps its comments for that person.
    """
    graded = {grade.name for grade in notebook.grades}
    comments = sorted(notebook.comments, key=lambda comment: (comment.name in graded, comment.name))
    if comments:
        comments[0].auto_comment = text


def plain(text: str) -> str:
    """Show it as it is: what students name ends up in pages of instructors."""
    line = clean(text).replace("\n", " ")
    escaped = re.sub(r"([\\`*_\[\]()#!|~])", r"\\\1", line)
    return html.escape(escaped, quote=False)
