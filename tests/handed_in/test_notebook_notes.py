"""A notebook read as a part file: what its author is told, and what is refused."""

from __future__ import annotations

import time

import pytest

from autograder.errors import SubmissionError
from autograder.handed_in.notebook import read
from tests.handed_in.notebooks import GIVEN, NAME, RELEASED, WORK, notebook, notes_of

RUNS = "left out, because it runs something when the file is read; that is fine where you tried things out"


TOLD = {
    "nothing": ([GIVEN, WORK], []),
    "what runs something": (
        [GIVEN, WORK + "\nprint(work(3))\nrows = work(3)", "for i in range(3):\n    pass"],
        [
            f"{NAME}: {RUNS}: cell 2, line 3: print(work(3)); cell 2, line 4: rows = work(3); cell 3, line 1: for i in range(3):"
        ],
    ),
    "what runs something beside a value": (
        [
            GIVEN,
            "A = 1; B = 2  # why\nROOT = 2; print(work(3)); C = A + B",
            "def work(x):\n    return x**ROOT + C",
        ],
        [f"{NAME}: {RUNS}: cell 2, line 2: print(work(3))"],
    ),
    "what is no Python": (
        [GIVEN, WORK, "work((", "%%writefile another.py\n" + WORK],
        [
            f"{NAME}: left out, because it cannot be read as Python of this part: cell 3 (a bracket or a quote is not closed); cell 4 (%%writefile another.py)"
        ],
    ),
    "what stands twice": (
        [GIVEN, WORK, WORK + "\n# again"],
        [f"{NAME}: work is defined in cells 2, 3; the last one counts that is written"],
    ),
    "more than a note can hold": (
        ["\n".join(f"f({i})" for i in range(15))],
        [
            f"{NAME}: {RUNS}: "
            + "; ".join(f"cell 1, line {i + 1}: f({i})" for i in range(12))
            + "; and 3 more"
        ],
    ),
}


@pytest.mark.parametrize(("sources", "notes"), TOLD.values(), ids=TOLD)
def test_what_was_left_out_is_named_with_its_cell(sources, notes):
    """And why."""
    assert notes == notes_of(*sources)


@pytest.mark.parametrize(
    ("ours", "notes"),
    [
        ({"version": "2"}, []),
        ({}, []),
        ("spoofed", []),
        (
            {"version": "1"},
            [f"{NAME}: released as version 1, graded by version 2; see CHANGELOG.md"],
        ),
    ],
    ids=["current", "unknown", "spoofed", "older"],
)
def test_a_template_of_another_version_is_named(ours, notes):
    """The notebook says what it was released as."""
    assert notes == notes_of(GIVEN, WORK, perflab=ours)


REFUSED = {
    "no JSON": (b"PK\3\4", "it is damaged, or no notebook; save it again"),
    "JSON without end": (b"[" * 100_000, "it is damaged, or no notebook; save it again"),
    "a conflict of git": (
        b'{"cells": [\n<<<<<<< HEAD\n{},\n=======\n{}\n>>>>>>> mine\n]}',
        "git left its marks of a conflict in it; settle that, and save it again",
    ),
    "no UTF-8": (b"\xff\xfe{", "it is damaged, or no notebook; save it again"),
    "a number": (
        b"3",
        "it has no cells, or is of an old format; open it in Jupyter and save it again",
    ),
    "format 3": (
        b'{"worksheets": []}',
        "it has no cells, or is of an old format; open it in Jupyter and save it again",
    ),
}


@pytest.mark.parametrize(("data", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_notebook_is_refused_in_words(data, message):
    """Never with a traceback."""
    with pytest.raises(SubmissionError) as caught:
        read(data, NAME, RELEASED)

    assert message == str(caught.value)


def test_a_notebook_with_more_code_than_a_file_may_have_is_refused():
    """Its outputs may be long, its cells not."""
    with pytest.raises(
        SubmissionError, match="its cells hold more than 256 KiB; keep the part and what it needs"
    ):
        read(notebook("# " + "x" * 262_144), NAME, RELEASED)


@pytest.mark.parametrize(
    "source", ["'\\" * 100_000, "x = 1\n" + "#" * 10_001], ids=["never ends", "a long line"]
)
def test_a_cell_that_takes_too_long_to_read_is_left_out(source):
    """Its author is told which; the other cells count."""
    began = time.process_time()
    seen = read(notebook("def kept():\n    return 1", source), NAME, RELEASED)

    assert time.process_time() - began < 60
    assert b"def kept" in seen.code
    assert "cannot be read as Python of this part: cell 2 (" in seen.notes[0]
