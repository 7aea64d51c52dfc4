"""What a student's code raised is told in one line, with the call that led to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograder.worker.raised import WIDEST, ImportFailed, as_text, in_words

CALLS = """
class Loud:
    def __repr__(self):
        raise SystemExit("hostile")

def make_model(weights, classes=10, *, held=None):
    return inner(classes)

def inner(n):
    raise ValueError(f"{n} classes")

def later():
    raise NotImplementedError

def counted(n):
    assert n == 3
"""


def raised(tmp_path, call):
    """Run a call of a student's file, and keep what it raised."""
    path = tmp_path / "part.py"
    path.write_text(CALLS)
    import torch

    names = {"torch": torch}
    exec(compile(CALLS, str(path), "exec"), names)
    with pytest.raises(Exception) as caught:
        eval(call, names)
    return caught.value


WORDS = {
    "a call is written with its plain values": (
        "make_model('auto', classes=55)",
        "ValueError: 55 classes (part.py, line 10), called as make_model(weights='auto', classes=55, held=None)",
    ),
    "of a tensor its shape, of all else the type": (
        "make_model(torch.zeros(2, 3), classes=5, held=Loud())",
        "ValueError: 5 classes (part.py, line 10), called as make_model(weights=Tensor of 2 x 3, classes=5, held=Loud)",
    ),
    "an assertion without words is told by its line": (
        "counted(2)",
        "AssertionError: assert n == 3 (part.py, line 16), called as counted(n=2)",
    ),
    "what is not written yet says so": ("later()", "later is not written yet (part.py, line 13)"),
}


@pytest.mark.parametrize(("call", "expected"), WORDS.values(), ids=WORDS)
def test_an_exception_names_its_place_and_the_call_of_the_students(tmp_path, call, expected):
    """The same call can then be made at home."""
    assert expected == in_words(raised(tmp_path, call), tmp_path)


def test_a_file_that_cannot_be_imported_is_told_apart(tmp_path):
    """It is why no probe of the part runs."""
    failed = ImportFailed("part.py")
    failed.__cause__ = raised(tmp_path, "make_model(1, 2)")

    assert "part.py could not be imported: ValueError: 2 classes (part.py, line 10)" in in_words(
        failed, tmp_path
    )
    assert "in inner" in as_text(failed, tmp_path)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        pytest.param("too far", "ValueError: too far", id="short"),
        pytest.param("tensor " * 200, "ValueError: " + "tensor " * 83 + "tensor ...", id="long"),
        pytest.param("x" * 2000, "ValueError: " + "x" * (WIDEST - 12) + " ...", id="one word"),
    ],
)
def test_what_an_error_says_ends_with_a_whole_word(said, words):
    found = in_words(ValueError(said), Path("/nowhere"))

    assert words == found
    assert len(found) <= WIDEST + len(" ...")
