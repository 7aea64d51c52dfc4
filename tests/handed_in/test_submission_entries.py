"""What is handed in: an answer in words to each file that is no plain one."""

from __future__ import annotations

import os
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest

from autograder.handed_in.submission import load
from autograder.handed_in.unpack import MIB
from tests.handed_in.archives import (
    CODE,
    CSV,
    DAMAGED,
    FILES,
    LISTED,
    PNG,
    PY,
    answer,
    folder,
    special,
    tarred,
    zipped,
)

LINK = "it is a symbolic link; hand in the file itself"
SPECIAL = "it is not an ordinary file; hand in the file itself"
OUTSIDE = "its path leads out of the archive; make the archive again"


def mode(name: str, kind: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.create_system, info.external_attr = 3, (kind | 0o644) << 16
    return info


TEXTS = {
    "UTF-16 with its mark": ("héllo".encode("utf-16"), "it is UTF-16 text; save it as UTF-8"),
    "UTF-16 without": ("héllo".encode("utf-16-le"), "it is UTF-16 text; save it as UTF-8"),
    "Latin-1": (
        "# ok\n# für\n".encode("latin-1"),
        "line 2 is not UTF-8 (it looks like Latin-1); save it as UTF-8",
    ),
    "marks of git": (
        b"x = 1\n<<<<<<< HEAD\nx = 2\n=======\nx = 3\n>>>>>>> theirs\n",
        "git left its marks of a conflict in it; settle that, and save it again",
    ),
    "half a character": (
        b"x = '\xed\xa0\x80'",
        "line 1 is not UTF-8 (it looks like Latin-1); save it as UTF-8",
    ),
    "a NUL byte": (b"x = 1\0\n", "it has a NUL byte at 5, so it is no text; save it as UTF-8"),
    "too large": (b"#" * (MIB + 1), "it is larger than 1 MiB"),
}


@pytest.mark.parametrize(("data", "why"), TEXTS.values(), ids=TEXTS)
def test_a_text_that_is_not_utf8_is_refused_and_named_for_what_it_looks_like(
    tmp_path: Path, data: bytes, why: str
):
    found = load(folder(tmp_path, FILES | {PY: data}), LISTED)

    assert ({PY: why}, {CSV, PNG}) == (found.refused, set(found.files))


ZIP_ENTRIES = {
    "a link": ([(mode(PY, stat.S_IFLNK), b"/etc/passwd")], LINK),
    "a FIFO": ([(mode(PY, stat.S_IFIFO), b"")], SPECIAL),
    "a device": ([(mode(PY, stat.S_IFBLK), b"")], SPECIAL),
    "above": ([(f"../{PY}", CODE)], OUTSIDE),
    "above by the back door": ([(f"a/..\\../{PY}", CODE)], OUTSIDE),
    "absolute": ([(f"/{PY}", CODE)], OUTSIDE),
    "on a drive": ([(f"C:\\{PY}", CODE)], OUTSIDE),
    "in two folders": (
        [(f"a/{PY}", CODE), (f"b/{PY}", CODE)],
        "it stands in 'a' and in 'b'; hand in one",
    ),
    "twice under two spellings": (
        [(PY, CODE), (f"./{PY}", b"evil")],
        "it is there twice; hand in one",
    ),
    "a link beside the file": (
        [(PY, CODE), (mode(f".//{PY}", stat.S_IFLNK), b"x")],
        "it is there twice; hand in one",
    ),
}


@pytest.mark.parametrize(("entries", "why"), ZIP_ENTRIES.values(), ids=ZIP_ENTRIES)
def test_a_zip_entry_that_is_no_plain_file_is_refused_in_words(
    tmp_path: Path, entries: list, why: str
):
    found = load(zipped(tmp_path / "a.zip", *entries), LISTED)

    assert ({}, {PY: why}) == (found.files, found.refused)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_that_stands_twice_in_an_archive_counts_neither_time(tmp_path: Path):
    ways = [
        zipped(tmp_path / "a.zip", (PY, CODE), (PY, b"evil")),
        tarred(tmp_path / "a.tar", (PY, CODE), (PY, b"evil")),
    ]

    assert [{PY: "it is there twice; hand in one"}] * 2 == [
        load(way, LISTED).refused for way in ways
    ]


TAR_ENTRIES = {
    "a symbolic link": (special(PY, tarfile.SYMTYPE, "/etc/passwd"), LINK),
    "a hard link": (special(PY, tarfile.LNKTYPE, CSV), LINK),
    "a FIFO": (special(PY, tarfile.FIFOTYPE), SPECIAL),
    "a device": (special(PY, tarfile.CHRTYPE), SPECIAL),
    "above": (tarfile.TarInfo(f"../{PY}"), OUTSIDE),
    "absolute": (tarfile.TarInfo(f"/tmp/{PY}"), OUTSIDE),
}


@pytest.mark.parametrize(("entry", "why"), TAR_ENTRIES.values(), ids=TAR_ENTRIES)
def test_a_tar_entry_that_is_no_plain_file_is_refused_in_words(
    tmp_path: Path, entry: tarfile.TarInfo, why: str
):
    found = load(tarred(tmp_path / "a.tar.gz", (CSV, b"x"), (entry, b"")), LISTED)

    assert ({CSV: b"x"}, {PY: why}) == (found.files, found.refused)


def test_links_and_special_files_of_a_folder_are_refused_and_never_opened(tmp_path: Path):
    """A FIFO would wait for a writer for ever; a link would read what the grader may read."""
    secret = folder(tmp_path / "secret", {"key.txt": b"secret", PNG: b"secret"})
    path = folder(tmp_path / "ada", {"x": b""})
    (path / PY).symlink_to(secret / "key.txt")
    (path / "linked").symlink_to(secret)
    os.mkfifo(path / CSV)
    found = load(path, LISTED)

    assert ({}, {PY: LINK, CSV: SPECIAL}, ("linked", "x")) == (
        found.files,
        found.refused,
        found.left_out,
    )


def test_a_folder_that_becomes_a_link_after_it_was_listed_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The kind is asked again of what was opened: only that cannot be exchanged any more."""
    path = folder(tmp_path / "ada", {f"sub/{PY}": CODE})
    folder(tmp_path / "secret", {PY: b"secret"})
    real = os.listdir

    def exchange(fd: int) -> list[str]:
        names = real(fd)
        if names == [PY]:
            (path / "sub").rename(path / "old")
            (path / "sub").symlink_to(tmp_path / "secret")
        return names

    monkeypatch.setattr(os, "listdir", exchange)

    assert {PY: "it cannot be read: Not a directory"} == load(path, LISTED).refused


def test_a_file_that_becomes_a_fifo_after_it_was_listed_is_refused_without_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = folder(tmp_path / "ada", {PY: CODE})
    real = os.stat

    def exchange(name: str, **how: object) -> os.stat_result:
        seen = real(name, **how)
        if name == PY:
            (path / PY).unlink()
            os.mkfifo(path / PY)
        return seen

    monkeypatch.setattr(os, "stat", exchange)

    assert {PY: "it cannot be read: no longer an ordinary file"} == load(path, LISTED).refused


def test_a_folder_that_may_not_be_opened_is_passed_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = folder(tmp_path / "ada", {PY: CODE, "shut/x": b""})
    real = os.open

    def shut(name: str | Path, flags: int, **how: int) -> int:
        if name == "shut":
            raise PermissionError(13, "Permission denied")
        return real(name, flags, **how)

    monkeypatch.setattr(os, "open", shut)

    assert {PY: CODE} == load(path, LISTED).files
    monkeypatch.setattr(os, "open", lambda *_args, **_how: shut("shut", 0))
    assert answer(path) == "Permission denied; name a folder, zip, tar or notebook"


def patched(path: Path, old: bytes, new: bytes) -> Path:
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new))
    return path


def test_an_encrypted_entry_says_so(tmp_path: Path):
    path = zipped(tmp_path / "a.zip", (PY, CODE))
    data = bytearray(path.read_bytes())
    data[6] |= 1
    data[data.index(b"PK\1\2") + 8] |= 1
    path.write_bytes(data)

    assert {PY: "it is encrypted; make the archive without a password"} == load(
        path, LISTED
    ).refused


def test_packing_that_a_plain_zip_does_not_use_is_refused(tmp_path: Path):
    path = zipped(tmp_path / "a.zip", (PY, CODE), how=zipfile.ZIP_LZMA)

    assert {PY: "it is packed in an unusual way; make a plain zip"} == load(path, LISTED).refused


def test_a_damaged_entry_is_refused_and_the_rest_is_taken(tmp_path: Path):
    path = patched(
        zipped(tmp_path / "a.zip", (PY, CODE), (CSV, b"x"), how=zipfile.ZIP_STORED),
        CODE,
        CODE[::-1],
    )
    found = load(path, LISTED)

    assert ({CSV: b"x"}, {PY: DAMAGED}) == (found.files, found.refused)


def test_a_name_with_a_nul_byte_is_not_the_name_before_it(tmp_path: Path):
    path = patched(zipped(tmp_path / "a.zip", (PY + "#.exe", CODE)), b"#", b"\0")
    found = load(path, LISTED)

    assert ({}, ("part3_amp.py?.exe",)) == (found.files, found.left_out)
