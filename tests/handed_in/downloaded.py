"""A roster, and folders as other systems write them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from autograder.handed_in.roster import Roster, Student

ADA = Student("ada", "Ada Lovelace", "ada@example.org", "1001", "657737", extension_hours=48)
BEN = Student("ben", "Ben Okri", "ben@example.org", "1002", "657768")
ROSTER = Roster({"ada": ADA, "ben": BEN})
DUE = datetime(2027, 1, 20, 18, 29, tzinfo=UTC)


def due(student):
    return DUE + timedelta(hours=student.extension_hours)


def lay(folder, *files, **texts):
    """Files with their text, folders included."""
    for name in files:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(texts.get(name.partition("/")[0], "x"))
    return folder


def shown(found):
    """Each attempt in a line."""
    return [
        f"{one.name} {one.handed.at.isoformat() if one.handed.at else 'sometime'}{' LATE' * one.handed.marked_late} "
        + " ".join(name for name, _ in one.files)
        for one in found.attempts
    ]
