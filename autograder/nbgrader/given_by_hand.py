"""Scores that a person gave in formgrader -> decisions beside the results, so that every export has them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.errors import UserError
from autograder.nbgrader import sync
from autograder.results import overrides, requests, standing
from autograder.results.overrides import Override, decide
from autograder.results.standing import Rules, Standing

REASON = "given in formgrader"
Given = tuple[str, float, str]
"""A check, the score that a person gave for it, and their comment."""


@dataclass(frozen=True)
class Fetched:
    """What became of the scores of one result."""

    submission: str
    made: tuple[Override, ...] = ()
    problems: tuple[str, ...] = ()
    """Scores that no decision can have, such as more than a check is worth."""


def fetch(
    folder: Path, url: str, rules: Rules, *, assignment: str = "", by: str, at: str
) -> Iterator[Fetched]:
    """Set in each result below *folder* what the gradebook has and the result has not."""
    with sync.opened(url) as book:
        for each in standing.read(folder, rules).whole:
            given = _given(book, assignment or each.result.lab, each, rules)
            fetched = _decided(each, given, by, at)
            if fetched.made:
                overrides.append(each.home, requests.answered(each.home, fetched.made))
            yield fetched


def _given(book: Any, assignment: str, each: Standing, rules: Rules) -> list[Given]:
    """Read the scores of the first of a group who has any."""
    from nbgrader.api import MissingEntry

    for student in sync.students_of(each.result, rules):
        try:
            submission = book.find_submission(assignment, student)
        except MissingEntry:
            continue
        if given := [it for notebook in submission.notebooks for it in _scores(notebook)]:
            return given
    return []


def _scores(notebook: Any) -> Iterator[Given]:
    comments = {comment.name: comment.manual_comment for comment in notebook.comments}
    for grade in notebook.grades:
        if grade.manual_score is not None:
            comment = (comments.get(grade.name) or "").strip()
            yield f"{notebook.name}.{grade.name}", grade.manual_score, comment


def _decided(each: Standing, given: list[Given], by: str, at: str) -> Fetched:
    made: list[Override] = []
    problems: list[str] = []
    for name, points, comment in given:
        check = each.result.checks.get(name)
        if check and not check.owed and check.points == points:
            continue
        try:
            made.append(decide(each.result, name, points, comment or REASON, by=by, at=at))
        except UserError as problem:
            problems.append(str(problem))
    return Fetched(each.result.submission, tuple(made), tuple(problems))
