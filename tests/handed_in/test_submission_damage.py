"""What is handed in: an answer in words to what is too large, damaged or no submission."""

from __future__ import annotations

import gzip
import os
import random
import tarfile
import tracemalloc
from pathlib import Path

import pytest

from autograder.errors import SubmissionError
from autograder.handed_in.submission import load
from autograder.handed_in.unpack import MIB, Caps
from autograder.model import Submission
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
    tarred,
    zipped,
)

# Bombs


@pytest.mark.parametrize("declared", [0, 10, 2**31], ids=["none", "little", "much"])
def test_a_zip_bomb_is_read_no_further_than_its_cap_whatever_it_declares(
    tmp_path: Path, declared: int
):
    path = zipped(tmp_path / "a.zip", (PNG, b"\0" * 40 * MIB), (PY, CODE))
    data = bytearray(path.read_bytes())
    for start, field in ((0, 22), (data.index(b"PK\1\2"), 24)):
        data[start + field : start + field + 4] = declared.to_bytes(4, "little")
    path.write_bytes(data)
    tracemalloc.start()
    found = load(path, LISTED)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 20 * MIB
    assert ({PY: CODE}, {PNG}) == (found.files, set(found.refused))
    assert found.refused[PNG] in ("it is larger than 8 MiB", DAMAGED)


def test_a_tar_bomb_is_unpacked_no_further_than_the_cap(tmp_path: Path):
    path = tmp_path / "a.tar.gz"
    path.write_bytes(gzip.compress(b"\0" * 2 * MIB))

    assert (
        answer(path, Caps(archive=MIB)) == "holds more than 1 MiB; hand in the listed files alone"
    )


def test_files_that_are_small_alone_and_too_large_together_are_refused_from_there_on(
    tmp_path: Path,
):
    path = zipped(tmp_path / "a.zip", (PNG, b"\0" * 60), (CSV, b"," * 60), (PY, b"#" * 40))
    found = load(path, LISTED, Caps(total=100))

    assert ({PNG, PY}, {CSV: "the files together are larger than 100 bytes"}) == (
        set(found.files),
        found.refused,
    )


def sparse(name: str, size: int) -> bytes:
    """Write a tar header of the old GNU kind: a file of *size* bytes that is all hole."""
    info = tarfile.TarInfo(name)
    header = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    header[156:157] = tarfile.GNUTYPE_SPARSE
    header[386 : 386 + 24] = b"%011o\0%011o\0" % (0, 0)
    header[483:495] = b"%011o\0" % size
    header[148:156] = b"        "
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header) + b"\0" * 1024


def test_a_sparse_file_that_takes_no_room_in_a_tar_takes_none_here(tmp_path: Path):
    path = tmp_path / "a.tar"
    path.write_bytes(sparse(PNG, 2**32))

    assert set(load(path, LISTED).refused) == {PNG}


# Submissions that cannot be read as a whole

WHOLE = {
    "nothing": (b"", "is not a folder, zip or tar, or is a damaged one; make the archive again"),
    "a Python file": (
        CODE,
        "is not a folder, zip or tar, or is a damaged one; make the archive again",
    ),
    "RAR": (b"Rar!\x1a\x07\x01\0", "is a RAR archive; hand in a folder, zip or tar"),
    "7z": (b"7z\xbc\xaf\x27\x1c", "is a 7z archive; hand in a folder, zip or tar"),
    "half a zip": (b"PK\3\4" + b"\0" * 40, "is a damaged zip; make the archive again"),
    "half a tar.gz": (
        gzip.compress(b"\0" * 10240)[:20],
        "is a damaged tar.gz; make the archive again",
    ),
    "gzip of something else": (
        gzip.compress(b"hello"),
        "is not a folder, zip or tar, or is a damaged one; make the archive again",
    ),
}


@pytest.mark.parametrize(("data", "why"), WHOLE.values(), ids=WHOLE)
def test_bytes_that_are_no_submission_say_what_they_are(tmp_path: Path, data: bytes, why: str):
    (tmp_path / "a.zip").write_bytes(data)

    assert why == answer(tmp_path / "a.zip")


def test_a_path_that_is_missing_a_link_or_a_device_says_so(tmp_path: Path):
    (tmp_path / "link").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "fifo")

    assert [
        "No such file or directory; name a folder, zip, tar or notebook",
        "is a link; name the folder or archive itself",
        "is not a folder, zip, tar or notebook",
    ] == [answer(tmp_path / name) for name in ("none", "link", "fifo")]


@pytest.mark.parametrize("kind", ["folder", "zip", "tar"])
def test_more_entries_than_anybody_hands_in_are_refused(tmp_path: Path, kind: str):
    entries = [(f"{i}.txt", b"") for i in range(6)]
    make = {
        "zip": zipped,
        "tar": tarred,
        "folder": lambda at, *some: folder(at, {f"d/{n}": data for n, data in some} | {"e/x": b""}),
    }

    assert "more than 5 files; hand in the listed ones alone" == answer(
        make[kind](tmp_path / "a", *entries), Caps(entries=5)
    )


@pytest.mark.parametrize("kind", ["zip", "tar", "tgz"])
def test_no_damage_gets_past_the_reader(tmp_path: Path, kind: str):
    """Whatever bytes are changed, the answer is a Submission or a SubmissionError."""
    make = {"zip": zipped, "tgz": tarred, "tar": lambda at, *some: tarred(at, *some, mode="w")}[
        kind
    ]
    path = make(tmp_path / "a", *((f"ada/{name}", data) for name, data in FILES.items()))
    good, rng = path.read_bytes(), random.Random(kind)
    ends = set()
    for _ in range(400):
        bad = bytearray(good)
        for _ in range(rng.randint(1, 4)):
            bad[rng.randrange(min(len(bad), 4096))] = rng.choice(
                [0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)]
            )
        path.unlink()  # some file systems wait for the disk when a file is written over
        path.write_bytes(bad[: rng.choice([len(bad), len(bad), rng.randrange(len(bad))])])
        try:
            ends.add(type(load(path, LISTED)))
        except SubmissionError:
            ends.add(SubmissionError)

    assert {Submission, SubmissionError} == ends
