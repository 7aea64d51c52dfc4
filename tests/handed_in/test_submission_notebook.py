"""What is handed in: notebooks, for the files that they stand for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from autograder.handed_in.notebook import Released
from autograder.handed_in.submission import load, packed, unpacked
from autograder.handed_in.unpack import MIB, Caps
from autograder.model import Submission
from tests.handed_in.archives import CODE, LISTED, PY, folder, zipped

STUBBED = "def work():\n    # YOUR CODE HERE\n    raise NotImplementedError()\n"
RELEASED = Released("1", {PY: f"# %%\nimport torch\n\n# %%\n{STUBBED}"}, {"notes.md": ""})
NB, WRITTEN, ALSO = "part3_amp.ipynb", "def work():\n    return 1\n", "def work():\n    return 2\n"


def notebook(source: str, *more: dict[str, object], pad: int = 0) -> bytes:
    cell = {"cell_type": "code", "metadata": {}, "source": source, "outputs": [{"text": "x" * pad}]}
    return json.dumps({"nbformat": 4, "metadata": {}, "cells": [cell, *more]}).encode()


def taken(path: Path, listed: list[str] | None = None) -> Submission:
    return load(path, listed or LISTED, released=RELEASED)


def test_a_notebook_is_the_same_submission_from_a_folder_a_zip_or_alone(tmp_path: Path):
    """The part file that it stands for is what is graded, and what is hashed."""
    ways = [
        folder(tmp_path / "ada", {NB: notebook(WRITTEN)}),
        zipped(tmp_path / "ada.zip", (f"lab/{NB}", notebook(WRITTEN, pad=3 * MIB))),
        folder(tmp_path, {"ada-part3_amp (1).ipynb": notebook(WRITTEN)})
        / "ada-part3_amp (1).ipynb",
        folder(tmp_path / "colab", {f"Copy of {NB}": notebook(WRITTEN)}),
        folder(tmp_path, {"ben.part3_amp.IPYNB": notebook(WRITTEN)}) / "ben.part3_amp.IPYNB",
    ]
    found = [taken(way) for way in ways]

    assert ["ada", "ada", "ada-part3_amp (1)", "colab", "ben.part3_amp"] == [
        one.name for one in found
    ]
    assert [{PY}] * 5 == [set(one.files) for one in found]
    assert 1 == len({one.sha256 for one in found}) == len({one.files[PY] for one in found})
    assert WRITTEN.strip() in found[0].files[PY].decode()
    assert [()] * 5 == [one.left_out for one in found]
    called = ("ada-part3_amp (1).ipynb", f"Copy of {NB}", "ben.part3_amp.IPYNB")
    assert [(), (), *((f"{name} was read as {NB}",) for name in called)] == [
        one.notes for one in found
    ]


BOTH = {
    "both written": (
        WRITTEN,
        ALSO,
        WRITTEN,
        "both part3_amp.py and part3_amp.ipynb were handed in; part3_amp.py was graded",
    ),
    "an untouched file": (
        STUBBED,
        ALSO,
        ALSO,
        "both part3_amp.py and part3_amp.ipynb were handed in; part3_amp.ipynb was graded, more of it is written",
    ),
    "an untouched notebook": (
        WRITTEN,
        STUBBED,
        WRITTEN,
        "both part3_amp.py and part3_amp.ipynb were handed in; part3_amp.py was graded",
    ),
}


@pytest.mark.parametrize(("file", "cells", "graded", "note"), BOTH.values(), ids=BOTH)
def test_of_a_file_and_a_notebook_the_more_written_counts_else_the_file(
    tmp_path: Path, file, cells, graded, note
):
    """And the notes say which."""
    found = taken(folder(tmp_path, {PY: file.encode(), NB: notebook(cells)}))

    assert note == found.notes[0]
    assert graded.strip() in found.files[PY].decode()


def test_a_notebook_that_cannot_be_read_leaves_its_part_without_a_file_and_says_why(tmp_path: Path):
    """A file beside it still counts."""
    why = "it is damaged, or no notebook; save it again"

    assert {NB: why, PY: f"{NB} was not taken: {why}"} == taken(
        folder(tmp_path / "a", {NB: b"{"})
    ).refused
    found = taken(folder(tmp_path / "b", {NB: b"{", PY: CODE}))
    assert ({PY: CODE}, {NB: why}) == (found.files, found.refused)


def test_a_notebook_that_is_too_large_says_how_to_make_it_smaller(tmp_path: Path):
    """Its outputs are what is large."""
    caps = Caps(notebook=1000)
    found = load(folder(tmp_path, {NB: notebook(WRITTEN, pad=1000)}), LISTED, caps, RELEASED)
    why = "it is larger than 1000 bytes; clear its outputs, save it and hand it in again"

    assert {NB: why, PY: f"{NB} was not taken: {why}"} == found.refused


def test_a_report_written_in_the_notebook_is_the_report_unless_there_is_a_file(tmp_path: Path):
    """Both ways of handing it in are read."""
    cell = {
        "cell_type": "markdown",
        "metadata": {"perflab": {"file": "notes.md"}},
        "source": "Because.",
    }
    listed = [*LISTED, "notes.md"]
    alone = taken(folder(tmp_path / "a", {NB: notebook(WRITTEN, cell)}), listed)
    beside = taken(
        folder(tmp_path / "b", {NB: notebook(WRITTEN, cell), "notes.md": b"So."}), listed
    )

    assert (b"Because.\n", b"So.") == (alone.files["notes.md"], beside.files["notes.md"])


def test_what_became_of_a_notebook_is_kept_with_the_submission(tmp_path: Path):
    """A replay says the same."""
    found = taken(folder(tmp_path / "ada", {NB: notebook(WRITTEN + "work()")}))
    (tmp_path / "kept.zip").write_bytes(packed(found))

    assert found == unpacked(tmp_path / "kept.zip", "ada", LISTED)
    assert "left out, because it runs something" in found.notes[0]


def test_of_copies_of_a_notebook_the_one_of_the_very_name_counts(tmp_path: Path):
    """Where none has it, nobody guesses which of several is meant."""
    copies = {"part3_amp-Copy1.ipynb": notebook(ALSO), "part3_amp-Copy2.ipynb": notebook(ALSO)}
    found = taken(folder(tmp_path / "a", {NB: notebook(WRITTEN), **copies}))

    assert WRITTEN.strip() in found.files[PY].decode()
    assert tuple(copies) == found.left_out
    assert "it is there twice; hand in one" == taken(folder(tmp_path / "b", copies)).refused[NB]


def test_a_notebook_of_unknown_name_is_not_guessed_at(tmp_path: Path):
    """It is listed as not looked at."""
    (tmp_path / "Untitled.ipynb").write_bytes(notebook(WRITTEN))

    assert ({}, ("Untitled.ipynb",)) == (
        taken(tmp_path / "Untitled.ipynb").files,
        taken(tmp_path / "Untitled.ipynb").left_out,
    )
