"""Folders of submissions as Canvas, Moodle, Gradescope and nbgrader write them -> whose each is, and when it came.

Nothing is guessed: what belongs to no student of the roster, or to two, is listed and left to a person.
"""

from __future__ import annotations

import os
import re
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from autograder.errors import UserError
from autograder.handed_in.roster import Roster, Student
from autograder.handed_in.submission import name_of, plain
from autograder.handed_in.times import Handed, moment
from autograder.handed_in.unpack import ARCHIVE, is_file, passed_over

NO_SUBMISSION = "no folder, archive or notebook with a submission, so not looked at"
NO_FILE = "no submission of a file, so not looked at"
SAY_WHOSE = "find out whose it is, and rename it"
GRADESCOPE, NBGRADER = "submission_metadata.yml", "timestamp.txt"
# As Canvas builds them: name, LATE, user id, attachment id, the file's own name; an anonymous download has no user id.
CANVAS = re.compile(
    r"(?!(?:LATE_)?anon_)(?P<name>(?:.*?_)?)(?:(?P<late>LATE)_)?(?P<id>[0-9]+)_(?P<file>[0-9]+)_(?P<rest>.+)"
)
CANVAS_ID = re.compile(
    r"(?:^|_)(?=([0-9]+)_[0-9]+_.)"
)  # names, and what files are called, may look like one too
AGAIN = re.compile(
    r"(-\d+| \(\d+\))+(?=\.\w+$)"
)  # Canvas's mark of a file that was handed in again, a browser's
MOODLE = re.compile(r"(?P<name>.+?)_(?P<id>[0-9]+)_assignsubmission_file(?:_(?P<rest>.*))?")
MOODLE_ID = re.compile(r"_([0-9]+)_assignsubmission_")
TEXT_ENTRY = re.compile(
    r".+_[0-9]+_text\.html|.+_assignsubmission_onlinetext(_.*)?"
)  # typed there, so no file
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
    others: tuple[Mapping[str, str], ...] = ()
    """Whose it would be if its name were read in another way: students choose what their files are called."""


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
    return listed or (
        len(tops) > 1 and 2 * whose > len(tops)
    )  # most: there is always one who wrote a text instead


def find(
    folder: Path,
    lab: str,
    roster: Roster | None,
    due: Callable[[Student], datetime | None],
    *,
    every: bool = False,
) -> Found:
    """Read a download: one attempt a student, the last that is in time, else the last; or every attempt."""
    read = _reader(folder, lab) or _plain
    owned: dict[str, list[Attempt]] = defaultdict(list)
    notes: list[str] = []
    for entry in read(folder, lab):
        notes += [f"{entry.source}: {entry.note}"] if entry.note else []
        for owner in entry.owners:
            student = _student(owner, roster)
            meant = sorted(
                {one.student for who in (owner, *entry.others) if (one := _student(who, roster))}
            )
            if student is None:
                notes.append(f"{entry.source}: {_nobody(owner, roster)}")
            elif len(meant) > 1:
                notes.append(
                    f"{entry.source}: its name has the numbers of {' and '.join(meant)}; {SAY_WHOSE}"
                )
            else:
                handed = Handed(
                    student.student, entry.at, entry.marked_late, plain(entry.source, 255)
                )
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
    return (
        [replace(one, name=f"{one.name}-{n}") for n, one in enumerate(ordered, 1)]
        if len(ordered) > 1
        else ordered
    )


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
    return (
        f"nobody in the roster has {said}" if roster else f"whose it is takes a roster with {said}"
    )


# What a download looks like


def _reader(folder: Path, lab: str) -> Callable[[Path, str], Iterator[Entry]] | None:
    """Go by how most of what is inside is called: one student's file may be called as if by another system."""
    if (folder / GRADESCOPE).is_file():
        return _gradescope
    inside = _inside(folder)
    files = [path for path in inside if is_file(path)]
    shapes = ((_moodle, MOODLE, inside), (_canvas, CANVAS, files), (_exchange, EXCHANGE, inside))
    fits = {
        read: sum(1 for path in paths if form.fullmatch(path.name)) for read, form, paths in shapes
    }
    read = max(fits, key=lambda one: fits[one])
    if fits[read] and 2 * fits[read] >= len(inside):
        return read
    return _plain if any(is_file(path / lab / NBGRADER) for path in inside) else None


def _inside(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if not passed_over((path.name,)))


def _gradescope(folder: Path, _lab: str) -> Iterator[Entry]:
    import yaml

    path = folder / GRADESCOPE
    try:
        listed = yaml.load(path.read_bytes(), yaml.BaseLoader)  # noqa: S506 it makes text and nothing else
        entries = [
            (
                name,
                [
                    {"email": one.get(":email", ""), "student": one.get(":sid", "")}
                    for one in entry[":submitters"]
                ],
            )
            for name, entry in listed.items()
        ]
    except (yaml.YAMLError, AttributeError, KeyError, TypeError):
        raise UserError(
            f"{path}: this is not the list that Gradescope exports; download the export again"
        ) from None
    for name, owners in entries:
        at = listed[name].get(":created_at", "")
        home = folder / Path(name).name
        note = "" if home.is_dir() else "listed, and not in the folder"
        at = moment(
            at.get("utc", "") if isinstance(at, dict) else at
        )  # a time, or Rails' record of one
        yield Entry(name, ((home.name, home),), () if note else tuple(owners), at, note=note)


def _moodle(folder: Path, _lab: str) -> Iterator[Entry]:
    clear = []
    for path in _inside(folder):
        if len(numbers := dict.fromkeys(MOODLE_ID.findall(path.name))) > 1:
            yield Entry(
                path.name, note=f"its name has the numbers {' and '.join(numbers)}; {SAY_WHOSE}"
            )
        else:
            clear.append(path)
    yield from _grouped(
        clear, MOODLE, lambda match: {"moodle_id": match["id"], "name": match["name"]}
    )


def _canvas(folder: Path, _lab: str) -> Iterator[Entry]:
    for group in _grouped(_inside(folder), CANVAS, lambda match: {"canvas_id": match["id"]}):
        numbers = {number for _, path in group.files for number in CANVAS_ID.findall(path.name)}
        yield replace(group, others=tuple({"canvas_id": number} for number in sorted(numbers)))


def _grouped(
    paths: Sequence[Path],
    form: re.Pattern[str],
    owner: Callable[[re.Match[str]], Mapping[str, str]],
) -> Iterator[Entry]:
    """Put together what has one student's name and number: a download holds the latest attempt, whole or in files."""
    groups: dict[tuple[str, str], list[tuple[re.Match[str], Path]]] = defaultdict(list)
    for path in paths:
        match = form.fullmatch(path.name)
        if match is None or path.is_symlink() or not (path.is_file() or path.is_dir()):
            yield Entry(path.name, note=NO_FILE)
        else:
            groups[match["name"], match["id"]].append((match, path))
    for group in groups.values():
        late = form is CANVAS and any(match["late"] for match, _ in group)
        files = tuple(zip(_names(form, group), (path for _, path in group), strict=True))
        if note := _doubled(files):
            yield Entry(group[0][1].name, note=note)
        else:
            yield Entry(group[0][1].name, files, (owner(group[0][0]),), marked_late=late)


def _names(form: re.Pattern[str], group: Sequence[tuple[re.Match[str], Path]]) -> list[str]:
    """Call files as their author did; what is no name for a file keeps that of the download."""
    names = [
        match["rest"] if (match["rest"] or "").strip(".") else path.name for match, path in group
    ]
    once = [AGAIN.sub("", name) for name in names]
    return once if form is CANVAS and len(set(once)) == len(once) else names


def _doubled(files: Sequence[File]) -> str:
    """Say which two of a submission cannot both be taken; nobody knows which one was meant."""
    seen: dict[str, Path] = {}
    for name, path in files:
        other = seen.setdefault(name, path)
        if other != path:
            return f"'{name}' was handed in twice, as {other.name} and as {path.name}; keep one"
    folder = next((path for _, path in files if path.is_dir()), None)
    return (
        f"{folder.name} is a folder, and has files beside it; keep one"
        if folder and len(files) > 1
        else ""
    )


def _exchange(folder: Path, lab: str) -> Iterator[Entry]:
    for path in _inside(folder):
        match = EXCHANGE.fullmatch(path.name)
        if match is None:
            yield Entry(path.name, note="not called as nbgrader's exchange does, so not looked at")
        elif match["lab"] == lab:
            yield Entry(
                path.name, ((path.name, path),), ({"student": match["name"]},), moment(match["at"])
            )


def _plain(folder: Path, lab: str) -> Iterator[Entry]:
    """Folders and archives called as their students; in nbgrader's submitted/ the lab is a folder below."""
    for path in _inside(folder):
        if path.is_dir() or ARCHIVE.search(path.name):
            home = path / lab if os.path.isdir(path / lab) else path  # noqa: PTH112 it may not be entered
            yield _stamped(path, home, name_of(path))
        else:
            yield Entry(path.name, note=NO_SUBMISSION)


def _stamped(path: Path, home: Path, student: str) -> Entry:
    stamp = home / NBGRADER
    said = ""
    if is_file(stamp) and not stamp.is_symlink():
        with suppress(OSError), stamp.open("rb") as file:
            said = file.read(STAMP_BYTES).decode(errors="replace").strip()
    at = moment(said)
    note = f"{NBGRADER} says {said!r}, which is no time" if said and at is None else ""
    return Entry(path.name, ((home.name, home),), ({"student": student},), at, note=note)
