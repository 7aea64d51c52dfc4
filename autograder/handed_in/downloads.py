"""Folders of submissions as Canvas, Moodle, Gradescope and nbgrader write them -> whose each is,
and when it came.

Nothing is guessed: what belongs to no student of the roster, or to two, is listed and left to a
person.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from autograder.handed_in.formats import (
    CANVAS,
    CLASS_FORMS,
    GRADESCOPE,
    NBGRADER,
    SAY_WHOSE,
    Entry,
    File,
    read_plain,
    reader,
)
from autograder.handed_in.roster import Roster, Student
from autograder.handed_in.submission import REQUEST, plain
from autograder.handed_in.times import Handed
from autograder.handed_in.unpack import ARCHIVE, passed_over


@dataclass(frozen=True)
class Attempt:
    """One attempt of one student."""

    name: str
    """The name of its result: the student's or group's, with a number where every attempt is graded."""
    handed: Handed
    files: tuple[File, ...]
    """One folder or archive, or loose files."""
    later: tuple[tuple[File, ...], ...] = ()
    """What its author handed in after it: of that, only a request for a second look counts."""


@dataclass(frozen=True)
class Found:
    """Attempts to grade, and what an instructor has to look at."""

    attempts: tuple[Attempt, ...] = ()
    notes: tuple[str, ...] = ()


def recognised(folder: Path, lab: str) -> bool:
    """Whether this is a download of a system, which says more of its submissions than their
    names.
    """
    return folder.is_dir() and reader(folder, lab) is not None


def packed(path: Path, listed: Collection[str]) -> bool:
    """Whether this is the download of a whole class, as it came: nobody's submission.

    *listed* are the files of the lab.
    """
    try:
        with ZipFile(path) as archive:
            names = archive.namelist()
    except (OSError, ValueError, BadZipFile, NotImplementedError):
        return False
    if any(name.split("/")[1:] == [GRADESCOPE] for name in names):
        return True
    tops = {name.split("/")[0] for name in names}
    owned = [top for top in tops if any(form.fullmatch(top) for form in CLASS_FORMS)]
    # Most of them: there is always a student who wrote a text instead.
    return (len(tops) > 1 and 2 * len(owned) > len(tops)) or _side_by_side(names, listed)


def _side_by_side(names: Sequence[str], listed: Collection[str]) -> bool:
    """Whether folders that lie beside each other have the same file of the lab, as folders of students do."""
    paths = [tuple(name.split("/")) for name in names]
    homes = Counter(
        (path[:-2], path[-1])
        for path in paths
        if path[-1] in listed and len(path) > 1 and not passed_over(path)
    )
    return any(many > 1 for many in homes.values())


def find(
    folder: Path,
    lab: str,
    roster: Roster | None,
    due: Callable[[Student], datetime | None],
    *,
    every: bool = False,
) -> Found:
    """Read a download: one attempt a student, or every attempt.

    It is the last that is in time, else the last.
    """
    owned, notes = _owned(folder, lab, roster)
    chosen: list[Attempt] = []
    for name, attempts in sorted(owned.items()):
        if len(attempts) > 1 and any(attempt.handed.at is None for attempt in attempts):
            sources = ", ".join(attempt.handed.source for attempt in attempts)
            notes.append(f"{name}: several submissions without their times: {sources}; keep one")
        elif every:
            chosen += _every(attempts)
        else:
            members = roster.members(name) if roster else (Student(name),)
            longest = max(members, key=lambda student: student.extension_hours)
            chosen.append(_counts(attempts, due(longest)))
    return Found(tuple(chosen), tuple(notes))


def _owned(
    folder: Path,
    lab: str,
    roster: Roster | None,
) -> tuple[dict[str, list[Attempt]], list[str]]:
    """Return the attempts of each student or group, and notes on what is nobody's."""
    read = reader(folder, lab) or read_plain
    owned: dict[str, list[Attempt]] = defaultdict(list)
    notes: list[str] = []
    for entry in read(folder, lab):
        if entry.note:
            notes.append(f"{entry.source}: {entry.note}")
        for owner in entry.owners:
            student = _student(owner, roster)
            if student is None:
                problem = _among_others(entry, roster) or _nobody(owner, roster)
                notes.append(f"{entry.source}: {problem}")
                continue
            names = _possible_owners(owner, entry, roster)
            if len(names) > 1:
                numbers = " and ".join(names)
                notes.append(f"{entry.source}: its name has the numbers of {numbers}; {SAY_WHOSE}")
            else:
                _add(owned[student.owner], _attempt(student, entry))
    return owned, notes


def _possible_owners(
    owner: Mapping[str, str],
    entry: Entry,
    roster: Roster | None,
) -> list[str]:
    students = [_student(other, roster) for other in (owner, *entry.others)]
    return sorted({student.student for student in students if student})


def _attempt(student: Student, entry: Entry) -> Attempt:
    handed = Handed(student.student, entry.at, entry.marked_late, plain(entry.source, 255))
    return Attempt(student.owner, handed, entry.files)


def _add(attempts: list[Attempt], attempt: Attempt) -> None:
    """Add one, unless it is there already for another member of the group."""
    if all(attempt.files != other.files for other in attempts):
        attempts.append(attempt)


def _counts(attempts: Sequence[Attempt], due: datetime | None) -> Attempt:
    """Choose the one that is graded; an upload that only asks for a second look is no attempt."""
    works = [attempt for attempt in attempts if not _only_asks(attempt)]
    counts = latest(works or attempts, due)
    later = sorted((other for other in attempts if _when(other) > _when(counts)), key=_when)
    return replace(counts, later=tuple(other.files for other in later))


def _only_asks(attempt: Attempt) -> bool:
    names: set[str] = set()
    for name, path in attempt.files:
        if path.is_dir():
            names.update(*(files for _, _, files in os.walk(path)))
        else:
            names.add(name)
    return {REQUEST} == names - {NBGRADER}


def latest(attempts: Sequence[Attempt], due: datetime | None) -> Attempt:
    """Choose the last attempt in time; where none is, the last."""
    ordered = sorted(attempts, key=_when)
    in_time = [attempt for attempt in ordered if due is None or _when(attempt) <= due]
    return (in_time or ordered)[-1]


def collect(attempt: Attempt, to: Path) -> Path:
    """Return the folder or archive of an attempt.

    Loose files are first put together, under their authors' names.
    """
    if len(attempt.files) == 1:
        [(_, path)] = attempt.files
        if path.is_dir() or ARCHIVE.search(path.name):
            return path
    home = to / attempt.name
    home.mkdir(parents=True)
    for name, path in attempt.files:
        shutil.copyfile(path, home / name, follow_symlinks=False)
    return home


def _every(attempts: Sequence[Attempt]) -> list[Attempt]:
    ordered = sorted(attempts, key=_when)
    if len(ordered) == 1:
        return ordered
    return [
        replace(attempt, name=f"{attempt.name}-{number}")
        for number, attempt in enumerate(ordered, 1)
    ]


def _when(attempt: Attempt) -> datetime:
    return attempt.handed.at or datetime.min.replace(tzinfo=UTC)


# Whose it is


def _student(owner: Mapping[str, str], roster: Roster | None) -> Student | None:
    """Find the student by the surest column.

    Without a roster only a name like ours will do.
    """
    if roster is None:
        name = plain(owner.get("student", ""))
        is_sound = name and "/" not in name and not name.startswith(".")
        return Student(name) if is_sound else None
    students = (roster.by(column, value) for column, value in owner.items())
    members = roster.members(owner.get("student", ""))
    return next((student for student in (*students, *members) if student is not None), None)


def _among_others(entry: Entry, roster: Roster | None) -> str:
    """Say what to do with a file of Canvas that lies beside what is none; the roster knows its number."""
    match = CANVAS.fullmatch(Path(entry.source).name)
    if not (match and roster and roster.by("canvas_id", match["id"])):
        return ""
    return (
        "it is called as Canvas calls files, and lies among folders that are not; "
        "put it into a folder of its own, and name that folder, too"
    )


def _nobody(owner: Mapping[str, str], roster: Roster | None) -> str:
    marks = " or ".join(f"{column} {value!r}" for column, value in owner.items() if value)
    if not roster:
        return f"whose it is takes a roster with {marks}"
    if any(roster.count(column, value) > 1 for column, value in owner.items()):
        return f"several in the roster have {marks}; give them their numbers there"
    return f"nobody in the roster has {marks}"
