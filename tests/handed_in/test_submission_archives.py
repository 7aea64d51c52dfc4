"""What is handed in: archives that lie in a folder where files should be."""

from __future__ import annotations

import gzip
import io
import zipfile
from pathlib import Path

import pytest

from autograder.errors import SubmissionError
from autograder.handed_in.submission import load
from autograder.handed_in.unpack import MIB, Caps
from tests.handed_in.archives import CODE, FILES, LISTED, PY, folder, tarred


def zip_of(*entries: tuple[str, bytes]) -> bytes:
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        for name, data in entries:
            archive.writestr(name, data)
    return whole.getvalue()


WORK = zip_of(*FILES.items())


@pytest.mark.parametrize(
    "files",
    [
        {"hand in.ZIP": WORK},
        {"ada/work.zip": WORK, "ada/notes.pdf": b"%PDF"},
        {"outer.zip": zip_of(("lab/inner.zip", zip_of(("work.zip", WORK))))},
        {"code.zip": zip_of((PY, CODE)), "rest.zip": zip_of(*list(FILES.items())[1:])},
        {
            "work.zip": WORK,
            "damaged.zip": WORK[:40],
            "__MACOSX/._work.zip": b"?",
            "other.rar": b"Rar!",
        },
    ],
    ids=[
        "as Moodle hands on",
        "beside other files",
        "three deep",
        "one a part",
        "beside broken ones",
    ],
)
def test_an_archive_in_a_folder_is_looked_into_where_nothing_listed_lies_beside_it(
    tmp_path: Path, files: dict
):
    """What is graded is what was meant."""
    assert FILES == load(folder(tmp_path / "ada", files), LISTED).files


def test_an_archive_beside_the_files_is_left_alone(tmp_path: Path):
    """A copy in it is no second hand-in."""
    found = load(folder(tmp_path / "ada", {**FILES, "copy.zip": zip_of((PY, b"old"))}), LISTED)

    assert (FILES, {}, ("copy.zip",)) == (found.files, found.refused, found.left_out)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"Rar!", "work.zip: is a RAR archive; hand in a folder, zip or tar"),
        (WORK[:60], "work.zip: is a damaged zip; make the archive again"),
        (
            zip_of(("a", b"0" * 2000)),
            "work.zip: holds more than 1000 bytes; hand in the listed files alone",
        ),
    ],
    ids=["RAR", "half", "too large"],
)
def test_of_the_only_archive_in_a_folder_it_is_said_what_is_wrong(
    tmp_path: Path, data: bytes, why: str
):
    with pytest.raises(SubmissionError, match=why):
        load(folder(tmp_path / "ada", {"work.zip": data}), LISTED, Caps(archive=1000))


def test_the_same_name_in_two_archives_counts_neither_time(tmp_path: Path):
    """Which is meant is not guessed."""
    found = load(
        folder(tmp_path / "ada", {"a.zip": zip_of((PY, CODE)), "b.zip": zip_of((PY, b""))}), LISTED
    )

    assert {PY: "it stands in 'a.zip' and in 'b.zip'; hand in one"} == found.refused


def test_archives_together_are_taken_no_further_than_one_alone(tmp_path: Path):
    """However many there are."""
    found = load(
        folder(tmp_path / "ada", {"a.zip": WORK, "b.zip": zip_of((PY, CODE))}),
        LISTED,
        Caps(archive=len(WORK)),
    )

    assert (FILES, ("b.zip",)) == (found.files, found.left_out)


def test_what_archives_unpack_to_counts(tmp_path: Path):
    """Else a thousand small ones hold gigabytes."""
    large = tarred(tmp_path / "one.tar.gz", ("data.bin", bytes(3 * MIB))).read_bytes()
    found = load(
        folder(tmp_path / "ada", {"a.tgz": large, "b.tgz": large}), LISTED, Caps(archive=5 * MIB)
    )

    assert ("b.tgz", "a.tgz/data.bin") == found.left_out


@pytest.mark.parametrize(("damaged", "files"), [(3, FILES), (4, {})])
def test_archives_that_are_read_in_vain_count(tmp_path: Path, damaged: int, files: dict):
    """Else a thousand of them take minutes."""
    packed = {**{f"{n}.zip": b"PK\3\4" for n in range(damaged)}, "work.zip": WORK}

    assert files == load(folder(tmp_path / "ada", packed), LISTED, Caps(archive=4 * MIB)).files


def test_a_packed_trace_of_another_name_is_no_archive(tmp_path: Path):
    """It is listed as not looked at, and what is missing is said."""
    found = load(folder(tmp_path / "ada", {"my_trace.json.gz": gzip.compress(b"{}")}), LISTED)

    assert ({}, ("my_trace.json.gz",)) == (found.files, found.left_out)


def test_an_archive_that_may_not_be_read_is_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Nobody's grading stops at it."""
    home = folder(tmp_path / "ada", {"a.zip": WORK})
    monkeypatch.setattr("autograder.handed_in.unpack._read_below", lambda *_: 1 / 0)

    assert ({}, ("a.zip",)) == (load(home, LISTED).files, load(home, LISTED).left_out)
