"""A function refuses what it cannot do, by the error that is claimed, and takes what is just allowed."""

from __future__ import annotations

import pytest

from autograder.claims.exercise import Exercise
from autograder.claims.mutants import made
from autograder.model import Failed, Passed
from tests.claims.harness import judged

RIGHT = """
def repeated(step, steps, size):
    if steps < 2:
        raise ValueError(f"{steps} steps are too few")
    return [step(size) for _ in range(steps)]
"""
WRONG = {
    'case "one step": no error came': RIGHT.replace("steps < 2", "steps < 1"),
    'case "no step": raised KeyError': RIGHT.replace("ValueError", "KeyError"),
    'case "two steps": raised ValueError': RIGHT.replace("steps < 2", "steps < 3"),
    "step was called before": RIGHT.replace("    if", "    step(size)\n    if"),
}


@pytest.fixture
def repeated():
    exercise = Exercise("repeated")
    exercise.inputs(lambda random, size=(1, 9): {"step": str, "steps": 5, "size": size})
    exercise.refuses(
        {"no step": {"steps": 0}, "one step": {"steps": 1, "size": 3}},
        before="step",
        takes={"two steps": {"steps": 2}},
        try_="compare steps with 2 first",
    )
    return exercise


@pytest.mark.parametrize("text", [RIGHT, RIGHT.replace("ValueError(f", "UnicodeError(f")])
def test_the_error_or_a_kind_of_it_passes(repeated, text, tmp_path):
    found = judged(repeated, text, RIGHT, tmp_path)["refuses"]

    assert isinstance(found, Passed), found


@pytest.mark.parametrize("words", WRONG)
def test_what_comes_instead_is_told(repeated, words, tmp_path):
    found = judged(repeated, WRONG[words], RIGHT, tmp_path)["refuses"]

    assert isinstance(found, Failed)
    assert words in found.measured
    allowed = "two steps" in words
    assert ("raise only in the cases" in found.try_) is allowed


def test_what_nobody_has_written_refuses_nothing(repeated, tmp_path):
    empty = "def repeated(step, steps, size):\n    raise NotImplementedError\n"
    found = judged(repeated, empty, RIGHT, tmp_path)["refuses"]

    assert "not written yet" in found


def test_calls_before_the_error_are_a_report(repeated):
    plain = Exercise("plain")
    plain.inputs(lambda random, size=(1, 9): {"size": size})
    plain.refuses({"no size": {"size": 0}}, LookupError, try_="look at size")

    bases = [it.part.checks["refuses"].basis for it in (repeated, plain)]

    assert ["report", "outputs"] == bases


def test_entries_refuse_nothing_or_by_another_error(repeated, tmp_path):
    entries = list(made(repeated, RIGHT, ""))

    assert ["refuses_nothing", "refuses_by_another_error"] == [it.name for it in entries]
    for entry in entries:
        found = judged(repeated, entry.text, RIGHT, tmp_path)["refuses"]
        assert isinstance(found, Failed)
