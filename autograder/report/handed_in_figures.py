"""The figures that students handed in, beside those measured here: tables of a part, and what its checks measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from autograder.checks import table
from autograder.course.labs import load_lab
from autograder.errors import CourseError, SubmissionError
from autograder.model import CheckResult, PartResult

ROWS, COLUMNS, LETTERS = 12, 10, 40  # of a student's table that are shown
FIRST = ("speedup", "slowdown")  # columns that stand behind the one that names the rows


@dataclass(frozen=True)
class Own:
    """One table that a student handed in."""

    file: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    more: int
    """Rows that are not shown."""


def tables(lab: str, files: Mapping[str, bytes]) -> dict[str, list[Own]]:
    """Read the tables that each part asks for; what is no table has been said to be none by a check."""
    of_parts: dict[str, list[Own]] = {}
    for part, name in _asked(lab):
        try:
            read = table.read(files[name], name) if name in files else None
        except SubmissionError:
            read = None
        if read and read.rows:
            columns = sorted(read.columns, key=lambda name: name not in (read.columns[0], *FIRST))[
                :COLUMNS
            ]
            rows = tuple(
                tuple(_short(row[column]) for column in columns) for row in read.rows[:ROWS]
            )
            own = Own(name, tuple(map(_short, columns)), rows, len(read.rows) - len(rows))
            of_parts.setdefault(part, []).append(own)
    return of_parts


def measured(part: PartResult) -> list[CheckResult]:
    """Return the checks of a part that measured a speed or memory."""
    return [
        check
        for check in part.checks
        if check.evidence.get("pairs") or "student_peak_bytes" in check.evidence
    ]


def _asked(lab: str) -> list[tuple[str, str]]:
    try:
        parts = load_lab(lab).parts
    except CourseError:  # of another course, or gone
        return []
    return [
        (part.id, file)
        for part in parts
        for file in part.artefacts.values()
        if file.endswith(".csv")
    ]


def _short(text: str) -> str:
    """Cut what is long, and write numbers in four digits.

    >>> _short("306.37917274427014"), _short("2032.0779690020993"), _short("AMD EPYC")
    ('306.4', '2,032', 'AMD EPYC')
    """
    value = table.number(text)
    if value is not None and "." in text:
        return f"{value:,.0f}" if 1000 <= abs(value) < 1e9 else f"{value:.4g}"
    return text if len(text) <= LETTERS else text[: LETTERS - 1] + "…"
