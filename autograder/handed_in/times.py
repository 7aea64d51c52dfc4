"""When each submission came.

Read from what others write, and kept beside the results in handed_in.csv.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from autograder import sheet
from autograder.errors import UserError

FILE = "handed_in.csv"
COLUMNS = ("submission", "student", "handed_in", "marked_late", "source")
FORM = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?) ?(\S*)")


@dataclass(frozen=True)
class Handed:
    """When a submission came and whose it is, as far as anybody knows."""

    student: str = ""
    """Empty: as the submission is called."""
    at: datetime | None = None
    marked_late: bool = False
    """By the system that it was handed in to."""
    source: str = ""
    """What it was called there."""


def moment(text: str) -> datetime | None:
    """Read a time with its offset or zone, or return None.

    Without either it is UTC, as nbgrader means it.

    >>> moment("2027-01-20 23:59:00.5 Europe/Berlin").isoformat()
    '2027-01-20T23:59:00.500000+01:00'
    """
    match = FORM.fullmatch(text.strip())
    if match is None:
        return None
    day, clock, zone = match.groups()
    # To the microsecond: Ruby writes nine digits.
    try:
        if zone[:1] in ("+", "-"):
            return datetime.fromisoformat(f"{day}T{clock[:15]}{zone}")
        at = datetime.fromisoformat(f"{day}T{clock[:15]}")
        if zone in ("", "Z", "UTC", "GMT"):
            return at.replace(tzinfo=UTC)
        # IST is three zones, so it is none.
        return at.replace(tzinfo=ZoneInfo(zone)) if "/" in zone else None
    except (ValueError, OSError, LookupError):
        return None


def write(out: Path, handed: Mapping[str, Handed]) -> Path:
    """Keep when each submission came; an instructor may mend it."""
    rows = [_row(name, entry) for name, entry in handed.items()]
    return sheet.write(out / FILE, COLUMNS, rows)


def _row(name: str, handed: Handed) -> tuple[str, ...]:
    at = handed.at.isoformat() if handed.at else ""
    mark = "yes" if handed.marked_late else ""
    return name, handed.student, at, mark, handed.source


def read(out: Path) -> Mapping[str, Handed]:
    """Read it back, submission by submission."""
    path = out / FILE
    rows = sheet.read(path, COLUMNS[:1], COLUMNS) if path.is_file() else []
    handed: dict[str, Handed] = {}
    for number, row in rows:
        where = f"{path}: row {number}"
        name = row["submission"]
        if name in handed:
            raise UserError(f"{where}: submission {name!r} stands twice; keep one")
        handed[name] = _handed(where, row)
    return handed


def _handed(where: str, row: sheet.Row) -> Handed:
    text = row.get("handed_in", "")
    mark = row.get("marked_late", "")
    at = moment(text)
    if text and at is None:
        raise UserError(f"{where}: handed_in {text!r} is not a time like 2027-01-20T23:59+05:30")
    if at and not FORM.fullmatch(text)[3]:  # type: ignore[index]
        raise UserError(
            f"{where}: handed_in {text!r} does not say where that was; write 2027-01-20T23:59+05:30"
        )
    if mark not in ("", "yes"):
        raise UserError(f"{where}: marked_late {mark!r} is neither 'yes' nor empty")
    return Handed(row.get("student", ""), at, mark == "yes", row.get("source", ""))
