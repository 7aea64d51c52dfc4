"""A reader of ours in a process of its own: what it says, what it costs when it hangs or dies, and what it can see."""

from __future__ import annotations

import json
import sys

import pytest

from autograder.errors import SubmissionError
from autograder.sandbox import box, evaluate, evaluate_file
from tests.traces.made import kineto, training

module = sys.modules["autograder.sandbox.evaluate"]  # behind the function of that name
pytestmark = pytest.mark.slow


def test_what_a_reader_prints_comes_back(tmp_path):
    path = tmp_path / "t"
    path.write_bytes(kineto(training()))

    fenced, plain = (
        json.loads(said)["trace"]
        for said in (
            evaluate("autograder.traces", path.read_bytes(), "a"),
            evaluate_file("autograder.traces", path, "a"),
        )
    )

    assert fenced == plain
    assert "a" == fenced["file"]


def test_what_is_wrong_with_a_file_comes_back_in_words():
    said = json.loads(evaluate("autograder.traces", b"hello", "a.json"))

    assert said["error"].startswith("a.json: is no profile that is read here")


def test_without_a_fence_the_limits_stay(monkeypatch):
    def none():
        raise box.BoxError("no bubblewrap", "install it")

    monkeypatch.setattr(box, "try_out", none)

    assert "error" in json.loads(evaluate("autograder.traces", b"hello", "a.json"))


def test_a_reader_that_hangs_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "SECONDS", 0.2)
    monkeypatch.setattr(module, "_python", lambda *_: ["/bin/sleep", "60"])

    with pytest.raises(
        SubmissionError, match=r"^a: reading it took more than 0.2 s; record fewer steps$"
    ):
        evaluate_file("autograder.traces", tmp_path, "a")


def test_a_reader_that_used_up_its_time_is_told_of_time(tmp_path, monkeypatch):
    """And not of a damaged file."""
    monkeypatch.setattr(module, "_python", lambda *_: ["/bin/sh", "-c", "kill -XCPU $$"])

    with pytest.raises(SubmissionError, match="took more than"):
        evaluate_file("autograder.traces", tmp_path, "a")


def test_a_reader_that_dies_is_no_verdict_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_python", lambda *_: ["/bin/false"])

    with pytest.raises(SubmissionError, match="a: broke the reader, so the file is damaged"):
        evaluate_file("autograder.traces", tmp_path, "a")


GREEDY = """
import sys, autograder.traces.__main__ as reader
reader.read = lambda *_: bytearray(reader.MEMORY)
reader.main(*sys.argv[1:])
"""


def test_a_reader_that_wants_too_much_memory_says_so(tmp_path, monkeypatch):
    """The limit is the process's own, so nothing else suffers."""
    monkeypatch.setattr(
        module,
        "_python",
        lambda _, path, name: [sys.executable, "-I", "-c", GREEDY, str(path), name],
    )

    said = json.loads(evaluate_file("autograder.traces", tmp_path, "a"))

    assert {"error": "a: needs more than 3 GiB of memory to read; record fewer steps"} == said
