"""What the folders look like that Canvas, Moodle, Gradescope and nbgrader write."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from autograder.errors import UserError
from autograder.handed_in.submission import name_of
from autograder.handed_in.times import moment
from autograder.handed_in.unpack import ARCHIVE, is_file, passed_over

NO_SUBMISSION = "no folder, archive or notebook with a submission, so not looked at"
NO_FILE = "no submission of a file, so not looked at"
SAY_WHOSE = "find out whose it is, and rename it"
GRADESCOPE = "submission_metadata.yml"
NBGRADER = "timestamp.txt"
# As Canvas builds them: name, LATE, user id, attachment id, the file's own name.
# An anonymous download has no user id.
CANVAS = re.compile(
    r"(?!(?:LATE_)?anon_)(?P<name>(?:.*?_)?)(?:(?P<late>LATE)_)?"
    r"(?P<id>[0-9]+)_(?P<file>[0-9]+)_(?P<rest>.+)"
)
CANVAS_ID = re.compile(r"(?:^|_)(?=([0-9]+)_[0-9]+_.)")
"""Names, and what files are called, may look like one too."""
AGAIN = re.compile(r"(-\d+| \(\d+\))+(?=\.\w+$)")
"""Canvas's mark of a file that was handed in again, and a browser's."""
MOODLE = re.compile(r"(?P<name>.+?)_(?P<id>[0-9]+)_assignsubmission_file(?:_(?P<rest>.*))?")
MOODLE_ID = re.compile(r"_([0-9]+)_assignsubmission_")
TEXT_ENTRY = re.compile(r".+_[0-9]+_text\.html|.+_assignsubmission_onlinetext(_.*)?")
"""Typed there, so no file."""
CLASS_FORMS = (MOODLE, CANVAS, TEXT_ENTRY)
# nbgrader's: student+assignment+time+random
EXCHANGE = re.compile(
    r"(?P<name>[^+]+)\+(?P<lab>[^+]+)"
    r"\+(?P<at>\d{4}-\d\d-\d\d [\d:.]+(?: (?:[+-]\d{4}|[\w/]+))?)(?:\+.*)?"
)
STAMP_BYTES = 100
"""Of timestamp.txt, which students could have written."""

File = tuple[str, Path]
"""The name that its author gave it, and where it is."""


@dataclass(frozen=True)
class Entry:
    """Something in a download, before anybody has said whose it is."""

    source: str
    files: tuple[File, ...] = ()
    owners: tuple[Mapping[str, str], ...] = ()
    """Of each who handed it in: columns of the roster that may name them, the surest first."""
    at: datetime | None = None
    marked_late: bool = False
    note: str = ""
    others: tuple[Mapping[str, str], ...] = ()
    """Whose it would be if its name were read in another way: students choose names of files."""


def reader(folder: Path, lab: str) -> Callable[[Path, str], Iterator[Entry]] | None:
    """Go by how most of what is inside is called.

    One student's file may be called as if by another system.
    """
    if (folder / GRADESCOPE).is_file():
        return _gradescope
    inside = _inside(folder)
    files = [path for path in inside if is_file(path)]
    fits = {
        _moodle: _count(MOODLE, inside),
        _canvas: _count(CANVAS, files),
        _exchange: _count(EXCHANGE, inside),
    }
    read = max(fits, key=lambda reader: fits[reader])
    if fits[read] and 2 * fits[read] >= len(inside):
        return read
    return read_plain if any(is_file(path / lab / NBGRADER) for path in inside) else None


def _count(form: re.Pattern[str], paths: Sequence[Path]) -> int:
    return sum(1 for path in paths if form.fullmatch(path.name))


def _inside(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if not passed_over((path.name,)))


def _gradescope(folder: Path, _lab: str) -> Iterator[Entry]:
    import yaml

    path = folder / GRADESCOPE
    try:
        # The loader makes text and nothing else.
        listed = yaml.load(path.read_bytes(), yaml.BaseLoader)  # noqa: S506
        owners = {name: _submitters(record) for name, record in listed.items()}
    except (yaml.YAMLError, AttributeError, KeyError, TypeError):
        raise UserError(
            f"{path}: this is not the list that Gradescope exports; download the export again"
        ) from None
    for name, record in listed.items():
        home = folder / Path(name).name
        files = ((home.name, home),)
        at = record.get(":created_at", "")
        if isinstance(at, dict):  # Rails' record of a time
            at = at.get("utc", "")
        if home.is_dir():
            yield Entry(name, files, owners[name], moment(at))
        else:
            yield Entry(name, files, (), moment(at), note="listed, and not in the folder")


def _submitters(record: Mapping[str, Any]) -> tuple[Mapping[str, str], ...]:
    return tuple(
        {"email": person.get(":email", ""), "student": person.get(":sid", "")}
        for person in record[":submitters"]
    )


def _moodle(folder: Path, _lab: str) -> Iterator[Entry]:
    clear = []
    for path in _inside(folder):
        numbers = dict.fromkeys(MOODLE_ID.findall(path.name))
        if len(numbers) > 1:
            note = f"its name has the numbers {' and '.join(numbers)}; {SAY_WHOSE}"
            yield Entry(path.name, note=note)
        else:
            clear.append(path)
    yield from _grouped(clear, MOODLE, _moodle_owner)


def _moodle_owner(match: re.Match[str]) -> Mapping[str, str]:
    return {"moodle_id": match["id"], "name": match["name"]}


def _canvas(folder: Path, _lab: str) -> Iterator[Entry]:
    for group in _grouped(_inside(folder), CANVAS, lambda match: {"canvas_id": match["id"]}):
        numbers = {number for _, path in group.files for number in CANVAS_ID.findall(path.name)}
        others = tuple({"canvas_id": number} for number in sorted(numbers))
        yield replace(group, others=others)


def _grouped(
    paths: Sequence[Path],
    form: re.Pattern[str],
    owner: Callable[[re.Match[str]], Mapping[str, str]],
) -> Iterator[Entry]:
    """Put together what has one student's name and number.

    A download holds the latest attempt, whole or in files.
    """
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
        first, path = group[0]
        note = _doubled(files)
        if note:
            yield Entry(path.name, note=note)
        else:
            yield Entry(path.name, files, (owner(first),), marked_late=late)


def _names(
    form: re.Pattern[str],
    group: Sequence[tuple[re.Match[str], Path]],
) -> list[str]:
    """Call files as their author did.

    What is no name for a file keeps that of the download.
    """
    names = []
    for match, path in group:
        own = match["rest"] or ""
        names.append(own if own.strip(".") else path.name)
    once = [AGAIN.sub("", name) for name in names]
    return once if form is CANVAS and len(set(once)) == len(once) else names


def _doubled(files: Sequence[File]) -> str:
    """Return which two of a submission cannot both be taken.

    Nobody can tell which was meant.
    """
    paths: dict[str, Path] = {}
    for name, path in files:
        other = paths.setdefault(name, path)
        if other != path:
            return f"'{name}' was handed in twice, as {other.name} and as {path.name}; keep one"
    folder = next((path for _, path in files if path.is_dir()), None)
    if folder and len(files) > 1:
        return f"{folder.name} is a folder, and has files beside it; keep one"
    return ""


def _exchange(folder: Path, lab: str) -> Iterator[Entry]:
    for path in _inside(folder):
        match = EXCHANGE.fullmatch(path.name)
        if match is None:
            yield Entry(path.name, note="not called as nbgrader's exchange does, so not looked at")
        elif match["lab"] == lab:
            owner = {"student": match["name"]}
            yield Entry(path.name, ((path.name, path),), (owner,), moment(match["at"]))


def read_plain(folder: Path, lab: str) -> Iterator[Entry]:
    """Read folders and archives called as their students.

    In nbgrader's submitted/ the lab is a folder below.
    """
    for path in _inside(folder):
        if path.is_dir() or ARCHIVE.search(path.name):
            # Path.is_dir raises where a folder may not be entered.
            home = path / lab if os.path.isdir(path / lab) else path  # noqa: PTH112
            yield _stamped(path, home, name_of(path))
        else:
            yield Entry(path.name, note=NO_SUBMISSION)


def _stamped(path: Path, home: Path, student: str) -> Entry:
    stamp = home / NBGRADER
    text = ""
    if is_file(stamp) and not stamp.is_symlink():
        with suppress(OSError), stamp.open("rb") as file:
            text = file.read(STAMP_BYTES).decode(errors="replace").strip()
    at = moment(text)
    note = f"{NBGRADER} says {text!r}, which is no time" if text and at is None else ""
    return Entry(path.name, ((home.name, home),), ({"student": student},), at, note=note)
