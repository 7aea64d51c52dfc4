"""Who is in the class: roster.csv, read strictly, and the one student that a name or number of a download means."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from autograder import sheet
from autograder.errors import UserError

COLUMNS = ("student", "name", "email", "canvas_id", "moodle_id", "extension_hours", "leaderboard")
FORMS = {  # a column -> what stands in it, and the words for it
    "student": (re.compile(r"[^\W_][\w.@-]*"), "a short name of letters, digits and . _ - @"),
    "email": (re.compile(r"[^\s@=+-][^\s@]*@[^\s@]+"), "an address such as ada@example.org"),
    "canvas_id": (re.compile(r"\d+"), "a number, the column ID of Canvas's gradebook"),
    "moodle_id": (
        re.compile(r"\d+"),
        "a number, that after 'Participant' in Moodle's grading worksheet",
    ),
    "leaderboard": (re.compile(r"yes|no"), "'no' for who does not want to stand there, or empty"),
}
MOST_HOURS = 24 * 366


@dataclass(frozen=True)
class Student:
    """One student; what the course does not use is empty."""

    student: str
    """How submissions, results and nbgrader call them."""
    name: str = ""
    email: str = ""
    canvas_id: str = ""
    moodle_id: str = ""
    extension_hours: float = 0.0
    leaderboard: str = ""
    """'no': not to be named there, not even by a pseudonym."""


@dataclass(frozen=True)
class Roster:
    """The class, by the name that results have."""

    students: Mapping[str, Student] = field(default_factory=dict)

    def by(self, column: str, value: str) -> Student | None:
        """Find the one student with this value; two who share it are nobody, and so is nothing."""
        found = self._all(column, value)
        return found[0] if len(found) == 1 else None

    def count(self, column: str, value: str) -> int:
        """Say how many have this value."""
        return len(self._all(column, value))

    def _all(self, column: str, value: str) -> list[Student]:
        wanted = _same(value)
        return [
            one
            for one in self.students.values()
            if wanted and _same(getattr(one, column)) == wanted
        ]


def read(path: Path) -> Roster:
    """Read roster.csv; only `student` is required."""
    found: dict[str, Student] = {}
    for number, row in sheet.read(path, COLUMNS[:1], COLUMNS):
        one = _student(f"{path}: row {number}", row)
        for column in ("student", "email", "canvas_id", "moodle_id"):
            value = _same(getattr(one, column))
            if value and value in {_same(getattr(other, column)) for other in found.values()}:
                raise UserError(
                    f"{path}: row {number}: {column} {getattr(one, column)!r} stands twice; keep one"
                )
        found[one.student] = one
    return Roster(found)


def _student(where: str, row: sheet.Row) -> Student:
    for column, (form, words) in FORMS.items():
        value = row.get(column, "")
        if not form.fullmatch(value) and (value or column == "student"):
            raise UserError(f"{where}: {column} {value!r} is not {words}")
    plain = {column: row.get(column, "") for column in COLUMNS if column != "extension_hours"}
    return Student(**plain, extension_hours=_hours(where, row.get("extension_hours", "")))


def _hours(where: str, value: str) -> float:
    try:
        hours = sheet.number(value or "0")
    except ValueError:
        hours = math.nan
    if not 0 <= hours <= MOST_HOURS:
        raise UserError(
            f"{where}: extension_hours {value!r} is not a number of hours from 0 to {MOST_HOURS}"
        )
    return hours


def _same(value: str) -> str:
    """Compare without regard to case, spacing, and how an accent is written: macOS puts it behind its letter."""
    return " ".join(unicodedata.normalize("NFC", value).split()).casefold()
