"""A claim of several functions as one check: each has its share, and one that raises an exception earns none."""

from __future__ import annotations

import pytest

from autograder.claims.exercise import Exercise
from autograder.claims.several import Several
from autograder.grading.scoring import points_for
from autograder.lab import Part
from autograder.model import Failed, Observation, Partial, Passed
from tests.claims.harness import judged

BOTH = "def double(x):\n    return x * 2\n\n\ndef half(x):\n    return x / 2\n"


@pytest.fixture
def part():
    part = Part("both")
    exercises = [Exercise(name, part) for name in ("double", "half")]
    for exercise in exercises:
        exercise.inputs(lambda random, rows=(2, 5): {"x": random.normal(size=rows)})

    def claim(exercise):
        exercise.leaves_inputs_alone(name="leaves_inputs_alone", try_="a new tensor")

    Several(*exercises).claim("Neither changes its input.", claim)
    assert ["leaves_inputs_alone"] * 2 == [it.claimed["leaves_inputs_alone"] for it in exercises]
    return part


@pytest.mark.parametrize(
    ("old", "new", "kind", "words"),
    [
        pytest.param("x / 2", "x / 2", Passed, "", id="right"),
        pytest.param("x / 2", "x.div_(2)", Failed, "half: changed: x", id="in place"),
        pytest.param("x / 2", "1 / 0", Partial, "half raises an exception", id="one that raises"),
    ],
)
def test_each_function_has_its_share(part, tmp_path, old, new, kind, words):
    found = judged(part.exercises[0], BOTH.replace(old, new), BOTH, tmp_path)["leaves_inputs_alone"]

    assert isinstance(found, kind)
    assert words in f"{found.measured} {getattr(found, 'why', '')}"
    assert not isinstance(found, Partial) or 0.5 == found.credit


def test_functions_that_all_raise_earn_nothing(part):
    judge = part.checks["leaves_inputs_alone"].judge

    assert ("failed", 0.0) == points_for(judge(Observation("p", "ok", {"of": {}})), 1.0)
