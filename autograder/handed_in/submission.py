"""Reads what was handed in into one Submission: bytes of the listed files, no more.

It may be a folder, a zip, a tar or a notebook.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path, PurePosixPath

from autograder.errors import SubmissionError
from autograder.handed_in import imports, notebook
from autograder.handed_in.notebook import NOTHING, Reading, Released
from autograder.handed_in.tokens import Word, words
from autograder.handed_in.unpack import (
    ARCHIVE,
    CAPS,
    DAMAGED,
    Caps,
    Entry,
    entries,
    in_words,
    passed_over,
)
from autograder.model import Submission
from autograder.records import from_json, to_json
from autograder.traces import is_profile

GRADER = "autograder"
# How a text begins that names it, and what may stand in a piece of an f-string.
GRADER_TEXT = re.compile(rf"['\"]{{1,3}}{GRADER}['\".]", re.IGNORECASE)
GRADER_PIECE = re.compile(rf"\{{[^{{}}]*\b{GRADER}\b", re.IGNORECASE)
RECORD = ".submission.json"
"""In what is kept, beside the files: hidden, so no file of a lab."""
REQUEST = "request.md"
"""Of any lab: what a student asks a person to look at again."""
NAMED = 4
"""Modules that one note names."""
TEXT = {".py", ".md", ".csv", ".txt", ".json"}


@dataclass(frozen=True)
class Record:
    """What is kept of a submission beside its files, as `Submission` has it."""

    sha256: str
    refused: Mapping[str, str]
    left_out: tuple[str, ...]
    notes: tuple[str, ...] = ()


def load(
    path: Path,
    listed: Collection[str],
    caps: Caps = CAPS,
    released: Released = NOTHING,
) -> Submission:
    """Take the listed files, and notebooks that stand for one.

    They come from the shallowest folder that holds one.
    """
    names = {*listed, *released.notebooks}
    visible = [entry for entry in entries(path, names, caps) if not passed_over(entry.path)]
    named = list(_named_as_released(visible, released))
    chosen = _choose(named, names)
    files, refused = _take(chosen, caps)
    for entry in named:
        # A link or the like elsewhere is worth a word only when nothing else has its name.
        name = entry.path[-1]
        if entry.problem and name in names and name not in files:
            refused.setdefault(name, entry.problem)
    notes = [
        f"{was.path[-1]} was read as {entry.path[-1]}"
        for was, entry in zip(visible, named, strict=True)
        if was.path != entry.path and entry.path[-1] in files and entry in chosen[entry.path[-1]]
    ]
    for name in released.notebooks:
        notes += _settle(name, files, refused, released)
    notes += _about_code(files, released.templates)
    return Submission(
        name_of(path),
        _digest(files),
        files,
        refused,
        _left_out([entry for entry in named if entry.path[-1] != REQUEST], chosen),
        tuple(plain(note, 1000) for note in notes),
        _request(named, caps),
    )


def request_in(path: Path, caps: Caps = CAPS) -> str:
    """Read what an upload asks for, and nothing else of it."""
    visible = [it for it in entries(path, {REQUEST}, caps) if not passed_over(it.path)]
    return _request(visible, caps)


def _request(named: Sequence[Entry], caps: Caps) -> str:
    """Read the request that lies on top; one that is no text says so in its place."""
    entries = [entry for entry in named if entry.path[-1] == REQUEST and not entry.problem]
    if not entries:
        return ""
    data, problem = _read(REQUEST, [min(entries, key=lambda entry: len(entry.path))], caps)
    return f"\n{REQUEST} cannot be read: {problem}" if problem else data.decode()


def _left_out(
    named: Sequence[Entry],
    chosen: Mapping[str, list[Entry]],
) -> tuple[str, ...]:
    taken = {id(entry) for group in chosen.values() for entry in group}
    rest = sorted(entry.path for entry in named if id(entry) not in taken)
    return tuple(plain("/".join(parts)) for parts in sorted(rest, key=len)[:50])


def _about_code(files: Mapping[str, bytes], templates: Mapping[str, str]) -> Iterator[str]:
    for name, data in sorted(files.items()):
        if name.endswith(".py"):
            yield from _of_grader(name, data)
            yield from _outside(name, data, templates.get(name, ""))


def _named_as_released(visible: Sequence[Entry], released: Released) -> Iterator[Entry]:
    """Name a notebook after the part in its name, such as Copy of part3_amp.ipynb.

    It keeps its name where its folder has one of that very name.
    """
    paths = {entry.path for entry in visible}
    for entry in visible:
        path = _released_path(entry.path, released)
        yield entry if path in paths else replace(entry, path=path)


def _released_path(path: tuple[str, ...], released: Released) -> tuple[str, ...]:
    *home, name = path
    if not name.lower().endswith(notebook.SUFFIX):
        return path
    matches = [own for own in released.notebooks if own.removesuffix(notebook.SUFFIX) in name]
    return (*home, *matches) if len(matches) == 1 else path


def _settle(
    name: str,
    files: dict[str, bytes],
    refused: dict[str, str],
    released: Released,
) -> Sequence[str]:
    """Put the part file in the notebook's place.

    Of both, the one with more of it written counts, else the file.
    """
    file = released.notebooks[name]
    reading = _reading(name, files, refused, released)
    if reading is None:
        if name in refused and file not in files:
            refused.setdefault(file, f"{name} was not taken: {refused[name]}")
        return ()
    for text, data in reading.texts.items():
        files.setdefault(text, data)
    notes = list(reading.notes)
    if file in files:
        both = f"both {file} and {name} were handed in"
        if notebook.unwritten(files[file]) <= notebook.unwritten(reading.code):
            return (f"{both}; {file} was graded",)
        notes.insert(0, f"{both}; {name} was graded, more of it is written")
    files[file] = reading.code
    refused.pop(file, None)
    return notes


def _reading(
    name: str,
    files: dict[str, bytes],
    refused: dict[str, str],
    released: Released,
) -> Reading | None:
    if name not in files:
        return None
    try:
        return notebook.read(files.pop(name), name, released)
    except SubmissionError as problem:
        refused[name] = str(problem)
    return None


def _of_grader(name: str, source: bytes) -> Iterator[str]:
    """Note where a file's code speaks of this package.

    Its modules hold what the file's functions are compared with.
    """
    if GRADER.encode() in source.lower():
        for word in words(source.decode(errors="replace")):
            if _names_grader(word):
                line = f"{name}, line {word.line}"
                yield f"{line} names the grader's own package, which no part needs"
                return


def _outside(name: str, source: bytes, template: str) -> Iterator[str]:
    """Note what a file imports that may be missing where it is graded, on lines that its template lacks."""
    own = imports.without(source.decode(errors="replace"), template)
    lines = imports.others(own, beside={name})
    if lines:
        first = islice(lines.items(), NAMED)
        modules = ", ".join(f"{module} (line {line})" for module, line in first)
        yield (
            f"{name} imports {modules}, which may be missing where it is graded; "
            f"use {imports.ALLOWED} alone"
        )


def _names_grader(word: Word) -> bool:
    if word.kind == "text":
        piece = "f" in word.prefix and GRADER_PIECE.search(word.string)
        return bool(piece or GRADER_TEXT.match(word.string))
    return word.string.lower() == GRADER


def packed(handed_in: Submission) -> bytes:
    """Write a submission as a zip that is the same for the same files.

    A hidden file in it has the rest.
    """
    record = Record(handed_in.sha256, handed_in.refused, handed_in.left_out, handed_in.notes)
    return zipped({**handed_in.files, RECORD: json.dumps(to_json(record)).encode()})


def zipped(files: Mapping[str, bytes]) -> bytes:
    """Write files as a zip without times or owners."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return whole.getvalue()


def unpacked(path: Path, name: str, listed: Collection[str]) -> Submission:
    """Read back what `packed` wrote."""
    if not path.is_file():
        raise SubmissionError(f"{path}: not there; only submissions graded with --out are kept")
    record = _record(path)
    kept = load(path, listed)
    # Of what could not be read there are no files to hash.
    sha256 = kept.sha256 if kept.files else record.sha256
    return Submission(name, sha256, kept.files, record.refused, record.left_out, record.notes)


def _record(path: Path) -> Record:
    """Read what is kept beside the files; it was the comment of the zip once."""
    try:
        with zipfile.ZipFile(path) as archive:
            text = archive.read(RECORD) if RECORD in archive.namelist() else archive.comment
        return from_json(Record, json.loads(text), RECORD)
    except Exception as problem:  # the archive readers raise a dozen kinds on damaged bytes
        raise SubmissionError(
            f"{path}: what was kept cannot be read back ({problem}); grade again what was handed in"
        ) from None


def _choose(entries: Sequence[Entry], listed: Collection[str]) -> Mapping[str, list[Entry]]:
    named = [entry for entry in entries if entry.path[-1] in listed]
    sound = [entry for entry in named if not entry.problem]
    depth = min((len(entry.path) for entry in sound or named), default=0)
    chosen: dict[str, list[Entry]] = defaultdict(list)
    for entry in sorted(named, key=lambda entry: entry.path):
        if len(entry.path) == depth:
            chosen[entry.path[-1]].append(entry)
    return chosen


def _take(
    chosen: Mapping[str, list[Entry]],
    caps: Caps,
) -> tuple[dict[str, bytes], dict[str, str]]:
    files: dict[str, bytes] = {}
    refused: dict[str, str] = {}
    room = caps.total
    for name, group in sorted(chosen.items()):
        data, problem = _read(name, group, caps)
        # Of a notebook only its code is kept.
        size = 0 if name.endswith(notebook.SUFFIX) else len(data)
        if size > room:
            problem = f"the files together are larger than {in_words(caps.total)}"
        if problem:
            refused[name] = problem
        else:
            files[name] = data
            room -= size
    return files, refused


def _read(name: str, group: Sequence[Entry], caps: Caps) -> tuple[bytes, str]:
    entry = group[0]
    problem = _twice(entry.path, group[1].path) if len(group) > 1 else entry.problem
    if problem:
        return b"", problem
    cap = _cap(name, caps)
    try:
        data = entry.read(cap + 1)
    except OSError as error:
        return b"", f"it cannot be read: {error.strerror}"
    except Exception:  # the archive readers raise a dozen kinds on damaged bytes
        return b"", DAMAGED
    if len(data) > cap:
        problem = f"it is larger than {in_words(cap)}"
        if name.endswith(notebook.SUFFIX):
            problem += "; clear its outputs, save it and hand it in again"
        return b"", problem
    if _is_text(name):
        return data.removeprefix(b"\xef\xbb\xbf"), _text_problem(data)
    return data, ""


def _is_text(name: str) -> bool:
    """Profilers write bytes that are no text."""
    return PurePosixPath(name).suffix in TEXT and not is_profile(name)


def _cap(name: str, caps: Caps) -> int:
    if _is_text(name):
        return caps.text
    return caps.notebook if name.endswith(notebook.SUFFIX) else caps.other


def _twice(first: Sequence[str], second: Sequence[str]) -> str:
    if first == second:
        return "it is there twice; hand in one"
    homes = [plain("/".join(path[:-1])) for path in (first, second)]
    return f"it stands in '{homes[0]}' and in '{homes[1]}'; hand in one"


def _text_problem(data: bytes) -> str:
    """Return what a text is instead of UTF-8."""
    zeros = data.count(0)
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) or zeros * 3 > len(data):
        return "it is UTF-16 text; save it as UTF-8"
    if zeros:
        return f"it has a NUL byte at {data.index(0)}, so it is no text; save it as UTF-8"
    try:
        data.decode()
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        return f"line {line} is not UTF-8 (it looks like Latin-1); save it as UTF-8"
    return notebook.conflict(data)


def plain(text: str, longest: int = 100) -> str:
    """Make words of the student's fit to show.

    No control characters, no half characters, not endless.
    """
    return "".join(c if c.isprintable() else "?" for c in text)[:longest]


def name_of(path: Path) -> str:
    """Name a submission after its folder or archive.

    Its results go to a folder of this name, so it is never '..'.
    """
    name = path.name if path.name not in ("", "..") else path.resolve().name
    stem = name if path.is_dir() else ARCHIVE.sub("", name)
    return plain(stem).lstrip(".") or "submission"


def _digest(files: Mapping[str, bytes]) -> str:
    """Hash the files, each with its lengths, so that no two sets of files read the same."""
    whole = hashlib.sha256()
    for name, data in sorted(files.items()):
        whole.update(f"{len(name)} {len(data)} {name} ".encode() + data)
    return whole.hexdigest()
