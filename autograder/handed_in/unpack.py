"""Finds the files in a folder, zip or tar, or a notebook alone.

It returns their names, and a way to read each.
Nothing goes to disk, no link is followed, no size that an archive declares is believed. An archive
in a folder or in another archive is looked into where nothing listed lies beside it: so do Moodle
and mail hand on what they got.
"""

from __future__ import annotations

import errno
import gzip
import io
import os
import re
import stat
import tarfile
import zipfile
import zlib
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path

from autograder.errors import SubmissionError

MIB = 1024 * 1024
OTHERS = {
    b"Rar!": "a RAR archive",
    b"7z\xbc\xaf": "a 7z archive",
    b"BZh": "a bzip2 archive",
    b"\xfd7zX": "an xz archive",
}
PASSED_OVER = {"__MACOSX", "__pycache__"}
"""Beside everything hidden: .git, .ipynb_checkpoints, .DS_Store."""
# What is taken for one hand-in by its name; what it is its bytes say.
ARCHIVE = re.compile(r"\.(zip|ipynb|rar|7z|(tar\.)?(gz|bz2|xz)|tar|t[gbx]z2?)$", re.IGNORECASE)
NESTED = 3
"""Archives in archives."""
COSTS = MIB
"""Of the cap, at the least: reading a thousand damaged ones in vain would take minutes."""
DEPTH = 8
"""Folders in folders; deeper ones are not looked into."""
GZIP = b"\x1f\x8b"
ZIP = (b"PK\3\4", b"PK\5\6")
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
# Opening a FIFO must not wait for its writer.
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK

LINK = "it is a symbolic link; hand in the file itself"
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
    notebook: int = 16 * MIB
    """With its saved outputs."""
    other: int = 8 * MIB
    total: int = 32 * MIB


CAPS = Caps()


@dataclass(frozen=True)
class Entry:
    """A file that was handed in, not yet read."""

    path: tuple[str, ...]
    read: Callable[[int], bytes]
    """Up to n bytes; any exception means that they cannot be had."""
    problem: str = ""
    """Why it is not read at all."""


def entries(path: Path, listed: Collection[str], caps: Caps) -> Sequence[Entry]:
    """List a folder or archive; of too large ones only as much as the listed files need."""
    listing = _entries(path, listed, caps)
    room = caps.archive
    for _ in range(NESTED):
        visible = [entry for entry in listing if not passed_over(entry.path)]
        packed = [entry for entry in visible if not entry.problem and _packs(entry.path[-1])]
        if not packed or any(entry.path[-1] in listed for entry in visible):
            break
        listing, room = _opened(path, listing, packed, replace(caps, archive=room))
    return listing


def _opened(
    path: Path,
    listing: Sequence[Entry],
    packed: Sequence[Entry],
    caps: Caps,
) -> tuple[Sequence[Entry], int]:
    """Put what is in archives in their place.

    An archive that cannot be read stays; if it is the only one, that is raised.
    """
    room = caps.archive
    archives = set(packed)
    out = [entry for entry in listing if entry not in archives]
    for archive in packed:
        where = path / "/".join(archive.path)
        left = replace(caps, archive=room)
        data = b""
        try:
            data = archive.read(room + 1)
            data = _unpacked(where, data, left)
            below = _archive(where, data, left)
        except SubmissionError as problem:
            if len(packed) == 1:
                raise
            out.append(replace(archive, problem=str(problem)))
        except Exception:  # the archive readers raise a dozen kinds on damaged bytes
            out.append(replace(archive, problem=DAMAGED))
        else:
            out += [replace(entry, path=(*archive.path, *entry.path)) for entry in below]
        room = max(0, room - max(len(data), COSTS))
    return out, room


def _packs(name: str) -> bool:
    return ARCHIVE.search(name) is not None and not name.lower().endswith((".ipynb", ".json.gz"))


def _entries(path: Path, listed: Collection[str], caps: Caps) -> Sequence[Entry]:
    try:
        mode = path.lstat().st_mode
        if stat.S_ISDIR(mode):
            return _folder(path, listed, caps)
        if stat.S_ISREG(mode) and path.suffix.lower() == ".ipynb":
            return [Entry((path.name,), partial(_read_below, path, ()))]
        if stat.S_ISREG(mode):
            data = _read_below(path, (), caps.archive + 1)
            return _archive(path, _unpacked(path, data, caps), caps)
    except OSError as error:
        raise SubmissionError(
            f"{path}: {error.strerror or error}; name a folder, zip, tar or notebook"
        ) from None
    if stat.S_ISLNK(mode):
        raise SubmissionError(f"{path}: is a link; name the folder or archive itself")
    raise SubmissionError(f"{path}: is not a folder, zip, tar or notebook")


def passed_over(path: Sequence[str]) -> bool:
    """Whether a file is nobody's work: hidden, or made by a program."""
    return any(name in PASSED_OVER or (name.startswith(".") and name != "..") for name in path)


def is_file(path: Path) -> bool:
    """Whether a file is there; where a folder may not be entered, none is."""
    # Path.is_file raises there, and one student's folder would stop a class.
    return os.path.isfile(path)  # noqa: PTH113


def in_words(count: int) -> str:
    """Write a size as people say it."""
    return f"{count // MIB} MiB" if count >= MIB else f"{count} bytes"


# Folders


def _folder(root: Path, listed: Collection[str], caps: Caps) -> Sequence[Entry]:
    """Walk breadth first, so that a data set deep inside cannot hide the files above it."""
    files: list[Entry] = []
    queue: deque[tuple[str, ...]] = deque([()])
    count = 0
    while queue:
        above = queue.popleft()
        if count > caps.entries:
            shallow = (entry for entry in files if len(entry.path) <= len(above))
            if any(entry.path[-1] in listed for entry in shallow):
                break
            raise SubmissionError(
                f"{root}: more than {caps.entries} files; hand in the listed ones alone"
            )
        for name, mode in _list(root, above):
            count += 1
            path = (*above, name)
            if not stat.S_ISDIR(mode):
                read = partial(_read_below, root, path)
                files.append(Entry(path, read, _kind_problem(mode)))
            elif len(path) < DEPTH and not passed_over(path):
                queue.append(path)
    return files


def _kind_problem(mode: int) -> str:
    if stat.S_ISLNK(mode):
        return LINK
    return "" if stat.S_ISREG(mode) else SPECIAL


def _list(root: Path, names: tuple[str, ...]) -> list[tuple[str, int]]:
    try:
        fd = _open_below(root, names, FOLDER)
    except OSError:
        if names:
            return []  # a folder that may not be read holds nothing that could be taken
        raise
    try:
        return [
            (name, os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode)
            for name in sorted(os.listdir(fd))  # noqa: PTH208
        ]
    finally:
        os.close(fd)


def _read_below(root: Path, names: tuple[str, ...], count: int) -> bytes:
    with os.fdopen(_open_below(root, names, FILE), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):  # it was one when it was listed
            raise OSError(errno.EINVAL, "no longer an ordinary file")
        return file.read(min(count, status.st_size))


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
    if len(data) > caps.archive:
        raise SubmissionError(
            f"{path}: holds more than {in_words(caps.archive)}; hand in the listed files alone"
        )
    if other := next((words for magic, words in OTHERS.items() if data.startswith(magic)), ""):
        raise SubmissionError(f"{path}: is {other}; hand in a folder, zip or tar")
    zipped = data.startswith(ZIP)
    try:
        # zipfile reads its whole list of entries at once, so those are counted before: each
        # begins with PK 1 2.
        many = zipped and data.count(b"PK\1\2") > caps.entries
        entries = [] if many else list(islice((_zip if zipped else _tar)(data), caps.entries + 1))
    except Exception:  # the archive readers raise a dozen kinds on damaged bytes
        what = "is a damaged zip" if zipped else "is not a folder, zip or tar, or is a damaged one"
        raise SubmissionError(f"{path}: {what}; make the archive again") from None
    if many or len(entries) > caps.entries:
        raise SubmissionError(
            f"{path}: more than {caps.entries} files; hand in the listed ones alone"
        )
    return [entry for entry in entries if entry.path]


def _unpacked(path: Path, data: bytes, caps: Caps) -> bytes:
    if not data.startswith(GZIP):
        return data
    try:
        with gzip.open(io.BytesIO(data)) as file:
            return file.read(caps.archive + 1)
    except (OSError, EOFError, zlib.error):
        raise SubmissionError(f"{path}: is a damaged tar.gz; make the archive again") from None


def _zip(data: bytes) -> Iterator[Entry]:
    archive = zipfile.ZipFile(io.BytesIO(data))
    for info in archive.infolist():
        # Some Windows tools write backslashes; a NUL is not cut off here.
        name = info.orig_filename.replace("\\", "/")
        if not name.endswith("/"):
            read = partial(_read_zip, archive, info)
            yield Entry(_names(name), read, _outside(name) or _zip_problem(info))


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
    # Entries are read from memory later.
    archive = tarfile.open(fileobj=io.BytesIO(data), mode="r:")  # noqa: SIM115
    for member in archive:
        if not member.isdir():
            read = partial(_read_tar, archive, member)
            yield Entry(_names(member.name), read, _outside(member.name) or _tar_problem(member))


def _tar_problem(member: tarfile.TarInfo) -> str:
    if member.islnk() or member.issym():
        return LINK
    return "" if member.isreg() else SPECIAL


def _read_tar(archive: tarfile.TarFile, member: tarfile.TarInfo, count: int) -> bytes:
    file = archive.extractfile(member)
    return file.read(count) if file else b""


def _names(name: str) -> tuple[str, ...]:
    return tuple(part for part in name.split("/") if part not in ("", "."))


def _outside(name: str) -> str:
    if name.startswith("/") or ".." in name.split("/") or re.match("[A-Za-z]:", name):
        return OUTSIDE
    return ""
