"""Folders of submissions as Canvas, Moodle, Gradescope and nbgrader write them -> whose each is, and when it came.

Nothing is guessed: what belongs to no student of the roster, or to two, is listed and left to a person.
"""

from __future__ import annotations

import re
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from autograder.errors import UserError
from autograder.roster import Roster, Student
from autograder.submission import name_of, plain
from autograder.times import Handed, moment
from autograder.unpack import ARCHIVE, passed_over

NO_SUBMISSION = "no folder, archive or notebook with a submission, so not looked at"
GRADESCOPE, NBGRADER = "submission_metadata.yml", "timestamp.txt"
# As Canvas builds them: name without separators, LATE, user id, attachment id, the file's own name.
CANVAS = re.compile(r"(?:.*?_)?(?:(?P<late>LATE)_)?(?P<id>\d+)_(?P<file>\d+)_(?P<rest>.+)")
AGAIN = re.compile(r"(-\d+| \(\d+\))+(?=\.\w+$)")  # Canvas's mark of a file that was handed in again, a browser's
MOODLE = re.compile(r"(?P<name>.+)_(?P<id>\d+)_assignsubmission_file(?:_(?P<rest>.*))?")
TEXT_ENTRY = re.compile(r".+_\d+_text\.html|.+_assignsubmission_onlinetext(_.*)?")  # typed there, so no file
EXCHANGE = re.compile(  # nbgrader's: student+assignment+time+random
    r"(?P<name>[^+]+)\+(?P<lab>[^+]+)\+(?P<at>\d{4}-\d\d-\d\d [\d:.]+(?: (?:[+-]\d{4}|[\w/]+))?)(?:\+.*)?"
)
STAMP_BYTES = 100  # of timestamp.txt, which students could have written

File = tuple[str, Path]
"""The name that its author gave it, and where it is."""


@dataclass(frozen=True)
class Entry:
    """Something in a download, before anybody has said whose it is."""

    source: str
    files: tuple[File, ...] = ()
    owners: tuple[Mapping[str, str], ...] = ()
    """For each who handed it in: columns of the roster by which they may be known, the surest first."""
    at: datetime | None = None
    marked_late: bool = False
    note: str = ""


@dataclass(frozen=True)
class Attempt:
    """One attempt of one student."""

    name: str
    """What its result is called: as the student, with a number where every attempt is graded."""
    handed: Handed
    files: tuple[File, ...]
    """One folder or archive, or loose files."""


@dataclass(frozen=True)
class Found:
    """Attempts to grade, and what an instructor has to look at."""

    attempts: tuple[Attempt, ...] = ()
    notes: tuple[str, ...] = ()


def recognised(folder: Path, lab: str) -> bool:
    """Whether this is a download of a system, which says more of its submissions than their names."""
    return folder.is_dir() and _reader(folder, lab) is not None


def packed(path: Path) -> bool:
    """Whether this is the download of a whole class, as it came: nobody's submission."""
    try:
        with ZipFile(path) as archive:
            names = archive.namelist()
    except (OSError, ValueError, BadZipFile, NotImplementedError):
        return False
    tops = {name.split("/")[0] for name in names}
    listed = any(name.split("/")[1:] == [GRADESCOPE] for name in names)
    whose = sum(any(form.fullmatch(top) for form in (MOODLE, CANVAS, TEXT_ENTRY)) for top in tops)
    return listed or (len(tops) > 1 and 2 * whose > len(tops))  # most: there is always one who wrote a text instead


def find(
    folder: Path, lab: str, roster: Roster | None, due: Callable[[Student], datetime | None], *, every: bool = False
) -> Found:
    """Read a download: one attempt a student, the last that is in time, else the last; or every attempt."""
    read = _reader(folder, lab) or _plain
    owned: dict[str, list[Attempt]] = defaultdict(list)
    notes: list[str] = []
    for entry in read(folder, lab):
        notes += [f"{entry.source}: {entry.note}"] if entry.note else []
        for owner in entry.owners:
            student = _student(owner, roster)
            if student is None:
                notes.append(f"{entry.source}: {_nobody(owner, roster)}")
            else:
                handed = Handed(student.student, entry.at, entry.marked_late, plain(entry.source, 255))
                owned[student.student].append(Attempt(student.student, handed, entry.files))
    chosen = []
    for name, attempts in sorted(owned.items()):
        if len(attempts) > 1 and any(one.handed.at is None for one in attempts):
            notes.append(
                f"{name}: several submissions without their times: {', '.join(map(_source, attempts))}; keep one"
            )
        else:
            student = roster.students[name] if roster else Student(name)
            chosen += _every(attempts) if every else [latest(attempts, due(student))]
    return Found(tuple(chosen), tuple(notes))


def latest(attempts: Sequence[Attempt], due: datetime | None) -> Attempt:
    """Choose the last attempt in time; where none is, the last."""
    ordered = sorted(attempts, key=_when)
    in_time = [one for one in ordered if due is None or _when(one) <= due]
    return (in_time or ordered)[-1]


def collect(attempt: Attempt, to: Path) -> Path:
    """Name the folder or archive of an attempt; loose files are first put together, under their authors' names."""
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
    return [replace(one, name=f"{one.name}-{n}") for n, one in enumerate(ordered, 1)] if len(ordered) > 1 else ordered


def _when(one: Attempt) -> datetime:
    return one.handed.at or datetime.min.replace(tzinfo=UTC)


def _source(one: Attempt) -> str:
    return one.handed.source


# Whose it is


def _student(owner: Mapping[str, str], roster: Roster | None) -> Student | None:
    """Find the student by the surest that is known of them; without a roster only a name like ours will do."""
    if roster is None:
        name = plain(owner.get("student", ""))
        return Student(name) if name and "/" not in name and not name.startswith(".") else None
    found = (roster.by(column, value) for column, value in owner.items())
    return next((one for one in found if one is not None), None)


def _nobody(owner: Mapping[str, str], roster: Roster | None) -> str:
    said = " or ".join(f"{column} {value!r}" for column, value in owner.items() if value)
    if roster and any(roster.count(column, value) > 1 for column, value in owner.items()):
        return f"several in the roster have {said}; give them their numbers there"
    return f"nobody in the roster has {said}" if roster else f"whose it is takes a roster with {said}"


# What a download looks like


def _reader(folder: Path, lab: str) -> Callable[[Path, str], Iterator[Entry]] | None:
    inside = _inside(folder)
    if (folder / GRADESCOPE).is_file():
        return _gradescope
    if any(MOODLE.fullmatch(path.name) for path in inside):
        return _moodle
    if any(CANVAS.fullmatch(path.name) and path.is_file() for path in inside):
        return _canvas
    if any(EXCHANGE.fullmatch(path.name) for path in inside):
        return _exchange
    return _plain if any((path / lab / NBGRADER).is_file() for path in inside) else None


def _inside(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if not passed_over((path.name,)))


def _gradescope(folder: Path, _lab: str) -> Iterator[Entry]:
    import yaml

    path = folder / GRADESCOPE
    try:
        listed = yaml.load(path.read_bytes(), yaml.BaseLoader)  # noqa: S506 it makes text and nothing else
        entries = [
            (name, [{"email": one.get(":email", ""), "student": one.get(":sid", "")} for one in entry[":submitters"]])
            for name, entry in listed.items()
        ]
    except (yaml.YAMLError, AttributeError, KeyError, TypeError):
        raise UserError(f"{path}: this is not the list that Gradescope exports; download the export again") from None
    for name, owners in entries:
        at = listed[name].get(":created_at", "")
        home = folder / Path(name).name
        note = "" if home.is_dir() else "listed, and not in the folder"
        at = moment(at.get("utc", "") if isinstance(at, dict) else at)  # a time, or Rails' record of one
        yield Entry(name, ((home.name, home),), () if note else tuple(owners), at, note=note)


def _moodle(folder: Path, _lab: str) -> Iterator[Entry]:
    yield from _grouped(folder, MOODLE, lambda match: {"moodle_id": match["id"], "name": match["name"]})


def _canvas(folder: Path, _lab: str) -> Iterator[Entry]:
    yield from _grouped(folder, CANVAS, lambda match: {"canvas_id": match["id"]})


def _grouped(
    folder: Path, form: re.Pattern[str], owner: Callable[[re.Match[str]], Mapping[str, str]]
) -> Iterator[Entry]:
    """Put together what has one student's number: a download holds the latest attempt, as a folder or file by file."""
    groups: dict[str, list[tuple[re.Match[str], Path]]] = defaultdict(list)
    for path in _inside(folder):
        match = form.fullmatch(path.name)
        if match is None or path.is_symlink():
            yield Entry(path.name, note="no submission of a file, so not looked at")
        else:
            groups[match["id"]].append((match, path))
    for group in groups.values():
        names = [match["rest"] or path.name for match, path in group]
        once = [AGAIN.sub("", name) for name in names]
        names = once if form is CANVAS and len(set(once)) == len(once) else names
        late = form is CANVAS and any(match["late"] for match, _ in group)
        files = tuple(zip(names, (path for _, path in group), strict=True))
        yield Entry(group[0][1].name, files, (owner(group[0][0]),), marked_late=late)


def _exchange(folder: Path, lab: str) -> Iterator[Entry]:
    for path in _inside(folder):
        match = EXCHANGE.fullmatch(path.name)
        if match is None:
            yield Entry(path.name, note="not called as nbgrader's exchange does, so not looked at")
        elif match["lab"] == lab:
            yield Entry(path.name, ((path.name, path),), ({"student": match["name"]},), moment(match["at"]))


def _plain(folder: Path, lab: str) -> Iterator[Entry]:
    """Folders and archives called as their students; in nbgrader's submitted/ the lab is a folder below."""
    for path in _inside(folder):
        if path.is_dir() or ARCHIVE.search(path.name):
            home = path / lab if (path / lab).is_dir() else path
            yield _stamped(path, home, name_of(path))
        else:
            yield Entry(path.name, note=NO_SUBMISSION)


def _stamped(path: Path, home: Path, student: str) -> Entry:
    stamp = home / NBGRADER
    said = ""
    if stamp.is_file() and not stamp.is_symlink():
        with stamp.open("rb") as file:
            said = file.read(STAMP_BYTES).decode(errors="replace").strip()
    at = moment(said)
    note = f"{NBGRADER} says {said!r}, which is no time" if said and at is None else ""
    return Entry(path.name, ((home.name, home),), ({"student": student},), at, note=note)
