"""What a student's code raised is told in one line, with the call that led to it."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from autograder.worker.raised import WIDEST, ImportFailed, as_text, in_words, kind_of
from autograder.worker.rigs.returned import BadReturn

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

class CheckpointError(RuntimeError):
    pass

class Saved(CheckpointError):
    pass

def checkpoint():
    raise Saved("other tensors")

def wrapped():
    try:
        checkpoint()
    except CheckpointError as error:
        raise RuntimeError("in backward") from error

def twice():
    import contextlib
    @contextlib.contextmanager
    def once():
        yield
    context = once()
    with context:
        pass
    with context:
        pass

class Held:
    def __init__(self):
        raise NotImplementedError

def typed():
    return input()

def debugged():
    import bdb
    raise bdb.BdbQuit

def own_end():
    raise EOFError("the file ends too early")

def own_attribute():
    "".args
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


NO_KEYBOARD = "waits for a keyboard, and a check has none"
WORDS = {
    "a call is written with its plain values": (
        "make_model('auto', classes=55)",
        "ValueError: 55 classes (part.py, line 10), called as make_model(weights='auto', classes=55, held=None)",
    ),
    "of a tensor code that makes its like, of all else the type": (
        "make_model(torch.zeros(2, 3), classes=5, held=Loud())",
        "ValueError: 5 classes (part.py, line 10), called as make_model(weights=torch.randn((2, 3)), classes=5, held=Loud)",
    ),
    "the code of a tensor of integers names their type": (
        "make_model(torch.zeros(2, dtype=torch.int64), classes=5)",
        "ValueError: 5 classes (part.py, line 10), called as make_model(weights=torch.zeros((2,), dtype=torch.int64), classes=5, held=None)",
    ),
    "of a tensor that is not contiguous the code has its strides": (
        "make_model(torch.zeros(2, 3).t(), classes=5)",
        "ValueError: 5 classes (part.py, line 10), called as make_model(weights=torch.empty_strided((3, 2), (1, 3)), classes=5, held=None)",
    ),
    "float8 has no random numbers": (
        "make_model(torch.zeros(2, dtype=torch.float8_e5m2), classes=5)",
        "ValueError: 5 classes (part.py, line 10), called as make_model(weights=torch.zeros((2,), dtype=torch.float8_e5m2), classes=5, held=None)",
    ),
    "an assertion without words is told by its line": (
        "counted(2)",
        "AssertionError: assert n == 3 (part.py, line 16), called as counted(n=2)",
    ),
    "what is not written yet says so": ("later()", "later is not written yet (part.py, line 13)"),
    "of several __init__ the class is named": (
        "Held()",
        "Held.__init__ is not written yet (part.py, line 46)",
    ),
    "who asks a keyboard is told that there is none": (
        "debugged()",
        f"BdbQuit: breakpoint() {NO_KEYBOARD} (part.py, line 53), called as debugged()",
    ),
    "the end of a file is another thing": (
        "own_end()",
        "EOFError: the file ends too early (part.py, line 56), called as own_end()",
    ),
}


@pytest.mark.parametrize(("call", "expected"), WORDS.values(), ids=WORDS)
def test_an_exception_names_its_place_and_the_call_of_the_students(tmp_path, call, expected):
    """The same call can then be made at home."""
    assert expected == in_words(raised(tmp_path, call), tmp_path)


def test_input_waits_for_a_keyboard(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO())

    said = in_words(raised(tmp_path, "typed()"), tmp_path)
    assert f"EOFError: input() {NO_KEYBOARD} (part.py, line 49), called as typed()" == said


KINDS = {
    "an exception": ("inner(3)", ""),
    "the words of another": ("int('No module named, SyntaxError')", ""),
    "not written": ("later()", "unwritten"),
    "a module": ("__import__('einops')", "missing module"),
    "a submodule": ("__import__('torch.einops')", "missing module"),
    "Python": ("eval('1 +')", "syntax"),
    "of torch, by its name": ("checkpoint()", "changed segment"),
    "what it was raised from": ("wrapped()", "changed segment"),
    "a context": ("twice()", "reused context"),
    "an attribute": ("own_attribute()", ""),
}


@pytest.mark.parametrize(("call", "kind"), KINDS.values(), ids=KINDS)
def test_an_exception_is_of_a_kind_by_its_class(tmp_path, call, kind):
    """Not by what it says: that is the student's."""
    assert kind == kind_of(raised(tmp_path, call), tmp_path)


@pytest.mark.parametrize(
    ("value", "kind"),
    [(BadReturn("3 dimensions", "wrong type"), "wrong type"), (BadReturn("x"), "bad return")],
)
def test_what_cannot_be_read_has_the_kind_that_was_given_to_it(tmp_path, value, kind):
    assert kind == kind_of(value, tmp_path)


def test_of_a_file_that_cannot_be_imported_the_kind_is_that_of_the_exception(tmp_path):
    failed = ImportFailed("part.py")
    failed.__cause__ = raised(tmp_path, "later()")

    assert "unwritten" == kind_of(failed, tmp_path)


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
