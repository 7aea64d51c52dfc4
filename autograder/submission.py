"""Reads what was handed in, a folder, zip or tar, into one Submission: bytes of the listed files and nothing else.

Nothing is unpacked to disk, no link is followed, and no size that an archive declares is believed.
"""

from __future__ import annotations

import errno
import gzip
import hashlib
import io
import os
import re
import stat
import tarfile
import zipfile
import zlib
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path, PurePosixPath

from autograder.errors import SubmissionError
from autograder.model import Submission

MIB = 1024 * 1024
TEXT = {".py", ".md", ".csv", ".txt", ".json"}
OTHERS = {
    b"Rar!": "a RAR archive",
    b"7z\xbc\xaf": "a 7z archive",
    b"BZh": "a bzip2 archive",
    b"\xfd7zX": "an xz archive",
}
PASSED_OVER = {"__MACOSX", "__pycache__"}  # beside everything hidden: .git, .ipynb_checkpoints, .DS_Store
DEPTH = 8  # folders in folders; deeper ones are not looked into
GZIP, ZIP = b"\x1f\x8b", (b"PK\3\4", b"PK\5\6")
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK  # opening a FIFO must not wait for its writer

LINK = "it is a link; hand in the file itself"
SPECIAL = "it is not an ordinary file; hand in the file itself"
OUTSIDE = "its path leads out of the archive; make the archive again"
ENCRYPTED = "it is encrypted; make the archive without a password"
PACKED = "it is packed in an unusual way; make a plain zip"
DAMAGED = "it is damaged in the archive; make the archive again"


@dataclass(frozen=True)
class Caps:
    """How much is taken, in bytes but for `entries`."""

    entries: int = 10_000
    archive: int = 64 * MIB
    """Of an archive, packed and unpacked."""
    text: int = MIB
    other: int = 8 * MIB
    total: int = 32 * MIB


@dataclass(frozen=True)
class Entry:
    """A file that was handed in, not yet read."""

    path: tuple[str, ...]
    read: Callable[[int], bytes]
    """Up to n bytes; any exception means that they cannot be had."""
    problem: str = ""
    """Why it is not read at all."""


CAPS = Caps()


def load(path: Path, listed: Collection[str], caps: Caps = CAPS) -> Submission:
    """Take the listed files from the shallowest folder that holds one."""
    entries = [entry for entry in _entries(path, listed, caps) if not _passed_over(entry.path)]
    chosen = _choose(entries, listed)
    files, refused = _take(chosen, caps)
    for entry in entries:  # a link or the like elsewhere is worth a word only when nothing else has its name
        if entry.problem and entry.path[-1] in listed and entry.path[-1] not in files:
            refused.setdefault(entry.path[-1], entry.problem)
    taken = {id(entry) for group in chosen.values() for entry in group}
    rest = sorted(entry.path for entry in entries if id(entry) not in taken)
    left_out = tuple(_plain("/".join(names)) for names in sorted(rest, key=len)[:50])
    return Submission(_name(path), _digest(files), files, refused, left_out)


def _choose(entries: Sequence[Entry], listed: Collection[str]) -> Mapping[str, list[Entry]]:
    named = [entry for entry in entries if entry.path[-1] in listed]
    sound = [entry for entry in named if not entry.problem]
    depth = min((len(entry.path) for entry in sound or named), default=0)
    chosen: dict[str, list[Entry]] = defaultdict(list)
    for entry in sorted(named, key=lambda entry: entry.path):
        if len(entry.path) == depth:
            chosen[entry.path[-1]].append(entry)
    return chosen


def _take(chosen: Mapping[str, list[Entry]], caps: Caps) -> tuple[dict[str, bytes], dict[str, str]]:
    files: dict[str, bytes] = {}
    refused: dict[str, str] = {}
    room = caps.total
    for name, group in sorted(chosen.items()):
        data, why = _read(name, group, caps)
        if len(data) > room:
            why = f"the files together are larger than {_size(caps.total)}"
        if why:
            refused[name] = why
        else:
            files[name] = data
            room -= len(data)
    return files, refused


def _read(name: str, group: Sequence[Entry], caps: Caps) -> tuple[bytes, str]:
    entry = group[0]
    if len(group) > 1:
        return b"", _twice(entry.path, group[1].path)
    if entry.problem:
        return b"", entry.problem
    text = PurePosixPath(name).suffix in TEXT
    cap = caps.text if text else caps.other
    try:
        data = entry.read(cap + 1)
    except OSError as error:
        return b"", f"it cannot be read: {error.strerror}"
    except Exception:  # the archive readers raise a dozen kinds on damaged bytes
        return b"", DAMAGED
    if len(data) > cap:
        return b"", f"it is larger than {_size(cap)}"
    return (data.removeprefix(b"\xef\xbb\xbf"), _text_problem(data)) if text else (data, "")


def _twice(first: Sequence[str], second: Sequence[str]) -> str:
    if first == second:
        return "it stands twice in the archive; hand in one"
    one, other = (_plain("/".join(names[:-1])) for names in (first, second))
    return f"it stands in '{one}' and in '{other}'; hand in one"


def _text_problem(data: bytes) -> str:
    """Say what a text is instead of UTF-8."""
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
    return ""


def _passed_over(path: Sequence[str]) -> bool:
    return any(name in PASSED_OVER or (name.startswith(".") and name != "..") for name in path)


def _plain(text: str) -> str:
    """Make a name of the student's fit to show: no control characters, no half characters, not endless."""
    return "".join(c if c.isprintable() else "?" for c in text)[:100]


def _name(path: Path) -> str:
    name = path.resolve().name
    stem = name if path.is_dir() else re.sub(r"\.(zip|tgz|tar|tar\.gz)$", "", name, flags=re.IGNORECASE)
    return _plain(stem).lstrip(".") or "submission"  # results go to a folder of this name: never '..'


def _digest(files: Mapping[str, bytes]) -> str:
    """Hash the files, each with its lengths, so that no two sets of files read the same."""
    whole = hashlib.sha256()
    for name, data in sorted(files.items()):
        whole.update(f"{len(name)} {len(data)} {name} ".encode() + data)
    return whole.hexdigest()


def _size(count: int) -> str:
    return f"{count // MIB} MiB" if count >= MIB else f"{count} bytes"


def _entries(path: Path, listed: Collection[str], caps: Caps) -> Sequence[Entry]:
    try:
        mode = path.lstat().st_mode
        if stat.S_ISDIR(mode):
            return _folder(path, listed, caps)
        if stat.S_ISREG(mode):
            return _archive(path, _read_below(path, (), caps.archive + 1), caps)
    except OSError as error:
        raise SubmissionError(f"{path}: {error.strerror or error}; name a folder, zip or tar") from None
    what = "is a link; name the folder or archive itself" if stat.S_ISLNK(mode) else "is not a folder, zip or tar"
    raise SubmissionError(f"{path}: {what}")


# Folders


def _folder(root: Path, listed: Collection[str], caps: Caps) -> Sequence[Entry]:
    """Walk breadth first, so that a data set deep inside cannot hide the files above it."""
    found: list[Entry] = []
    queue: deque[tuple[str, ...]] = deque([()])
    seen = 0
    while queue:
        above = queue.popleft()
        if seen > caps.entries:
            if any(entry.path[-1] in listed and len(entry.path) <= len(above) for entry in found):
                break
            raise SubmissionError(f"{root}: more than {caps.entries} files; hand in the listed ones alone")
        for name, mode in _list(root, above):
            seen += 1
            path = (*above, name)
            if not stat.S_ISDIR(mode):
                problem = LINK if stat.S_ISLNK(mode) else "" if stat.S_ISREG(mode) else SPECIAL
                found.append(Entry(path, partial(_read_below, root, path), problem))
            elif len(path) < DEPTH and not _passed_over(path):
                queue.append(path)
    return found


def _list(root: Path, names: tuple[str, ...]) -> list[tuple[str, int]]:
    try:
        fd = _open_below(root, names, FOLDER)
    except OSError:
        if names:
            return []  # a folder that may not be read holds nothing that could be taken
        raise
    try:
        return [(name, os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode) for name in sorted(os.listdir(fd))]  # noqa: PTH208
    finally:
        os.close(fd)


def _read_below(root: Path, names: tuple[str, ...], count: int) -> bytes:
    with os.fdopen(_open_below(root, names, FILE), "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):  # it was one when it was listed
            raise OSError(errno.EINVAL, "no longer an ordinary file")
        return file.read(min(count, found.st_size))


def _open_below(root: Path, names: tuple[str, ...], flags: int) -> int:
    """Open step by step, so that no step can be a link, not even one put there a moment ago."""
    fd = os.open(root, FOLDER if names else flags)
    for step, name in enumerate(names, start=1):
        above = fd
        try:
            fd = os.open(name, flags if step == len(names) else FOLDER, dir_fd=above)
        finally:
            os.close(above)
    return fd


# Archives


def _archive(path: Path, data: bytes, caps: Caps) -> Sequence[Entry]:
    if data.startswith(GZIP):
        data = _unpacked(path, data, caps)
    if len(data) > caps.archive:
        raise SubmissionError(f"{path}: holds more than {_size(caps.archive)}; hand in the listed files alone")
    if other := next((words for magic, words in OTHERS.items() if data.startswith(magic)), ""):
        raise SubmissionError(f"{path}: is {other}; hand in a folder, zip or tar")
    zipped = data.startswith(ZIP)
    try:
        # zipfile reads its whole list of entries at once, so those are counted before: each begins with PK 1 2.
        many = zipped and data.count(b"PK\1\2") > caps.entries
        entries = [] if many else list(islice((_zip if zipped else _tar)(data), caps.entries + 1))
    except Exception:  # the archive readers raise a dozen kinds on damaged bytes
        what = "is a damaged zip" if zipped else "is not a folder, zip or tar, or is a damaged one"
        raise SubmissionError(f"{path}: {what}; make the archive again") from None
    if many or len(entries) > caps.entries:
        raise SubmissionError(f"{path}: more than {caps.entries} files; hand in the listed ones alone")
    return [entry for entry in entries if entry.path]


def _unpacked(path: Path, data: bytes, caps: Caps) -> bytes:
    try:
        with gzip.open(io.BytesIO(data)) as file:
            return file.read(caps.archive + 1)
    except (OSError, EOFError, zlib.error):
        raise SubmissionError(f"{path}: is a damaged tar.gz; make the archive again") from None


def _zip(data: bytes) -> Iterator[Entry]:
    archive = zipfile.ZipFile(io.BytesIO(data))
    for info in archive.infolist():
        name = info.orig_filename.replace("\\", "/")  # as some Windows tools write it; a NUL is not cut off here
        if not name.endswith("/"):
            yield Entry(_names(name), partial(_read_zip, archive, info), _outside(name) or _zip_problem(info))


def _zip_problem(info: zipfile.ZipInfo) -> str:
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind not in (0, stat.S_IFREG):
        return LINK if kind == stat.S_IFLNK else SPECIAL
    if info.flag_bits & 1:
        return ENCRYPTED
    return "" if info.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) else PACKED


def _read_zip(archive: zipfile.ZipFile, info: zipfile.ZipInfo, count: int) -> bytes:
    with archive.open(info) as file:
        return file.read(count)


def _tar(data: bytes) -> Iterator[Entry]:
    archive = tarfile.open(fileobj=io.BytesIO(data), mode="r:")  # noqa: SIM115 entries are read from memory later
    for member in archive:
        if not member.isdir():
            problem = LINK if member.islnk() or member.issym() else "" if member.isreg() else SPECIAL
            yield Entry(_names(member.name), partial(_read_tar, archive, member), _outside(member.name) or problem)


def _read_tar(archive: tarfile.TarFile, member: tarfile.TarInfo, count: int) -> bytes:
    file = archive.extractfile(member)
    return file.read(count) if file else b""


def _names(name: str) -> tuple[str, ...]:
    return tuple(part for part in name.split("/") if part not in ("", "."))


def _outside(name: str) -> str:
    return OUTSIDE if name.startswith("/") or ".." in name.split("/") or re.match("[A-Za-z]:", name) else ""
