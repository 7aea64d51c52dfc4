"""What compiled code would launch: counted off the code that torch.compile writes."""

from __future__ import annotations

import pytest

from autograder.claims.exercise import Exercise
from autograder.claims.mutants import made
from autograder.errors import CourseError
from autograder.model import Failed, Passed
from tests.claims.harness import judged

pytestmark = pytest.mark.fresh

RIGHT = """
import torch


def projected(x, first, second):
    left, right = (x @ torch.cat([first, second], 1)).chunk(2, 1)
    return (left + right).relu() * 0.5
"""
SLOW = """
import torch



def projected(x, first, second):
    rows = [row[None] @ first + row[None] @ second for row in x]
    return torch.cat(rows).relu() * 0.5
"""
RESULT = "(left + right).relu() * 0.5"
WRONG = {
    "a product for each row": (
        RIGHT,
        SLOW,
        "at most 3 too many products",
    ),
    "a value is looked at": (
        RESULT,
        "(left + right).relu() * (0.5 if left.sum().item() < 1e9 else 0)",
        "the function is cut into several graphs",
    ),
    "numpy, behind the compiler's back": (
        RESULT,
        "hidden(left, right)",
        "the function is cut into several graphs",
    ),
    "no product": (
        "(x @ torch.cat([first, second], 1))",
        "torch.cat([x * first.sum(), x * second.sum()], 1)",
        "no launch has mm in its name",
    ),
    "nothing": (
        "left, right = (x @ torch.cat([first, second], 1)).chunk(2, 1)\n    return " + RESULT,
        "return x",
        "nothing is left to compile",
    ),
}
HIDDEN = """

@torch.compiler.disable
def hidden(left, right):
    return (left + right).relu() * 0.5
"""


@pytest.fixture
def projected():
    exercise = Exercise("projected")

    @exercise.inputs
    def draw(random, rows=(2, 5)):
        return {
            "x": random.normal(size=(rows, 6)),
            "first": random.normal(size=(6, 6)),
            "second": random.normal(size=(6, 6)),
        }

    return exercise


def claim(exercise):
    exercise.would_launch(3, ["mm"], {"rows": 3}, why="too many products", try_="torch.cat")
    return exercise


@pytest.mark.parametrize("mistake", WRONG)
def test_what_is_wrong_is_named(projected, mistake, tmp_path):
    old, new, words = WRONG[mistake]
    assert old in RIGHT
    text = RIGHT.replace(old, new) + HIDDEN
    verdict = judged(claim(projected), text, SLOW, tmp_path)["would_launch"]

    assert isinstance(verdict, Failed)
    assert words in f"{verdict.measured} {verdict.why}"


def test_right_work_passes_and_says_what_is_launched(projected, tmp_path):
    verdict = judged(claim(projected), RIGHT, SLOW, tmp_path)["would_launch"]

    assert isinstance(verdict, Passed)
    assert "3 launches (mm, fused_cat_0, fused_" in verdict.measured


def test_the_slow_version_and_what_hides_are_entries(projected, tmp_path):
    entries = {it.name: it for it in made(claim(projected), RIGHT, SLOW)}
    assert {"the_baseline", "hides_from_the_compiler"} == set(entries)
    for entry in entries.values():
        verdict = judged(projected, entry.text, SLOW, tmp_path)["would_launch"]

        assert isinstance(verdict, Failed), entry.name


def test_what_is_compiled_may_be_made_first(projected, tmp_path):
    """A function that returns a function: making it is not compiled."""
    projected.would_launch(
        1,
        of=lambda written, given: (written(given["first"]), [given["x"]]),
        why="two",
        try_="one",
    )
    text = """
def projected(weight):
    scale = float(weight.sum().item())
    return lambda x: (x * scale).relu()
"""
    verdict = judged(projected, text, SLOW, tmp_path)["would_launch"]

    assert isinstance(verdict, Passed)


def test_a_size_that_is_not_drawn_is_refused(projected):
    with pytest.raises(CourseError, match="fixes columns; inputs draws rows"):
        projected.would_launch(1, sizes={"columns": 3}, why="", try_="")
