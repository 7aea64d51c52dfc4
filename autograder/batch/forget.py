"""What is kept of a student below a folder of results, removed: files, lines of tables, rows of the journal."""

from __future__ import annotations

import re
import shutil
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from pathlib import Path

from autograder.batch.journal import Journal
from autograder.errors import UserError, nearest
from autograder.handed_in import times
from autograder.model import Result
from autograder.results import drift, not_graded, requests, standing
from autograder.results.not_graded import NOT_GRADED

OF_ALL = ("index.html", "grades.csv", "queue.html", "anonymous.html", NOT_GRADED)
"""Of all students; who removes one writes pages and grades again. anonymous.html, without names, is kept up to date."""


def submissions_of(out: Path, students: Collection[str]) -> list[str]:
    """Name the submissions of these students: called as they are, or theirs by what a download said."""
    owners = {path.parent.name: path.parent.name for path in out.glob(f"*/{standing.RESULT}")}
    owners |= {name: handed.student or name for name, handed in times.read(out).items()}
    left_out = not_graded.read(out)
    owners |= {student: student for student in students if _naming(left_out, [student])}
    for student in students:
        if student not in {*owners, *owners.values()}:
            hint = nearest(student, owners)
            raise UserError(f"{out}: nothing is kept of '{student}'{hint}")
    return sorted(name for name, owner in owners.items() if {name, owner} & {*students})


def _naming(lines: Collection[str], names: Collection[str]) -> list[str]:
    """Choose the lines in which a name stands as a word."""
    words = [re.compile(rf"(?<!\w){re.escape(name)}(?!\w)") for name in names]
    return [line for line in lines if any(word.search(line) for word in words)]


def older_than(out: Path, days: float, now: datetime) -> list[str]:
    """Name the submissions that were graded longer ago than that."""
    results = [each.result for each in standing.read(out).whole]
    return sorted(
        result.submission for result in results if _age(result, now) > timedelta(days=days)
    )


def _age(result: Result, now: datetime) -> timedelta:
    return now - datetime.fromisoformat(result.started).astimezone(UTC)


def forget(out: Path, names: Collection[str]) -> int:
    """Remove all of it but the pages of the class; return how many attempts the journal had."""
    with Journal(out) as journal:
        attempts = sum(journal.forget(name) for name in names)
        drift.write(out, journal.drift())
    handed_in = times.read(out)
    times.write(out, {name: handed_in[name] for name in handed_in if name not in names})
    requests.forget(out, list(names))
    left_out = not_graded.read(out)
    naming = _naming(left_out, names)
    not_graded.remember(out, [line for line in left_out if line not in naming])
    for name in names:
        if (out / name).is_dir():
            shutil.rmtree(out / name)
    is_empty = not any(out.glob(f"*/{standing.RESULT}"))
    for file in OF_ALL if is_empty else OF_ALL[:3]:
        (out / file).unlink(missing_ok=True)
    return attempts
