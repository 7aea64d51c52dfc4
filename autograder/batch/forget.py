"""What is kept of a student below a folder of results, removed: files, lines of tables, rows of the journal."""

from __future__ import annotations

import shutil
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from pathlib import Path

from autograder.batch.journal import Journal
from autograder.errors import UserError, nearest
from autograder.handed_in import times
from autograder.results import drift, standing

OF_ALL = ("index.html", "grades.csv", "anonymous.html")
"""Made from all results; written again by whoever removes one. The last has no names, and is kept up to date."""


def of(out: Path, students: Collection[str]) -> list[str]:
    """Name the submissions of these students: called as they are, or theirs by what a download said."""
    handed = times.read(out)
    known = {path.parent.name: path.parent.name for path in out.glob(f"*/{standing.RESULT}")}
    known |= {name: one.student or name for name, one in handed.items()}
    for student in students:
        if student not in {*known, *known.values()}:
            raise UserError(f"{out}: nothing is kept of '{student}'{nearest(student, known)}")
    return sorted(name for name, student in known.items() if {name, student} & {*students})


def older(out: Path, days: float, now: datetime) -> list[str]:
    """Name the submissions that were graded longer ago than that."""
    graded = {
        one.result.submission: datetime.fromisoformat(one.result.started)
        for one in standing.read(out).whole
    }
    return sorted(
        name for name, at in graded.items() if now - at.astimezone(UTC) > timedelta(days=days)
    )


def forget(out: Path, names: Collection[str]) -> int:
    """Remove all of it but the pages of the class; return how many attempts the journal had."""
    with Journal(out) as journal:
        attempts = sum(journal.forget(name) for name in names)
        drift.write(out, journal.drift())
    times.write(out, {name: one for name, one in times.read(out).items() if name not in names})
    for name in names:
        if (out / name).is_dir():
            shutil.rmtree(out / name)
    for file in OF_ALL[:2] if any(out.glob(f"*/{standing.RESULT}")) else OF_ALL:
        (out / file).unlink(missing_ok=True)
    return attempts
