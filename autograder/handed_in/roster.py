"""Who is in the class: roster.csv, read strictly.

And the one student that a name or number of a download means.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from autograder import sheet
from autograder.errors import UserError

COLUMNS = (
    "student",
    "name",
    "email",
    "canvas_id",
    "moodle_id",
    "extension_hours",
    "leaderboard",
    "group",
)
# A column -> what stands in it, and the words for it.
FORMS = {
    "student": (re.compile(r"[^\W_][\w.@-]*"), "a short name of letters, digits and . _ - @"),
    "email": (re.compile(r"[^\s@=+-][^\s@]*@[^\s@]+"), "an address such as ada@example.org"),
    "canvas_id": (re.compile(r"\d+"), "a number, the column ID of Canvas's gradebook"),
    "moodle_id": (
        re.compile(r"\d+"),
        "a number, that after 'Participant' in Moodle's grading worksheet",
    ),
    "group": (re.compile(r"[^\W_][\w.@-]*"), "a short name of letters, digits and . _ - @"),
    "leaderboard": (
        re.compile(r"no|pseudonym|name|yes"),
        "'no', 'pseudonym' or 'name': how they stand there; empty is a pseudonym",
    ),
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
    """'no': not to stand there; 'name': by the name; else by a pseudonym."""
    group: str = ""
    """Who has the same one hands in together."""

    @property
    def owner(self) -> str:
        """What their submissions and results are called: as the group, or as the student."""
        return self.group or self.student


@dataclass(frozen=True)
class Roster:
    """The class, by the name that results have."""

    students: Mapping[str, Student] = field(default_factory=dict)

    def by(self, column: str, value: str) -> Student | None:
        """Return the only student with this value; an empty value means nobody."""
        students = self._all(column, value)
        return students[0] if len(students) == 1 else None

    def count(self, column: str, value: str) -> int:
        """Return how many have this value."""
        return len(self._all(column, value))

    def members(self, name: str) -> tuple[Student, ...]:
        """Return who shares the result that is called so: a group, a student, or nobody."""
        if student := self.students.get(name):
            return self.members(student.group) if student.group else (student,)
        return tuple(it for it in self.students.values() if it.group and it.group == name)

    def _all(self, column: str, value: str) -> list[Student]:
        plain = _plain(value)
        if not plain:
            return []
        students = self.students.values()
        return [student for student in students if _plain(getattr(student, column)) == plain]


def read(path: Path) -> Roster:
    """Read roster.csv; only `student` is required."""
    students: dict[str, Student] = {}
    roster = Roster(students)
    for number, row in sheet.read(path, COLUMNS[:1], COLUMNS):
        where = f"{path}: row {number}"
        student = _student(where, row)
        for column in ("student", "email", "canvas_id", "moodle_id"):
            value = getattr(student, column)
            if roster.count(column, value):
                raise UserError(f"{where}: {column} {value!r} stands twice; keep one")
        students[student.student] = student
    names = {_plain(name) for name in students}
    if both := next((it.group for it in students.values() if _plain(it.group) in names), ""):
        raise UserError(f"{path}: group {both!r} is called as a student is; rename it")
    return roster


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


def _plain(value: str) -> str:
    """Leave out case, spacing, and how an accent is written.

    MacOS puts it behind its letter.
    """
    return " ".join(unicodedata.normalize("NFC", value).split()).casefold()
