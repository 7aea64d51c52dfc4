"""Work in fewer bits: it is rounded as they round, no more and no less, and reaches the operator that has them."""

from __future__ import annotations

import pytest

from autograder.claims.exercise import Exercise
from autograder.model import Failed, Passed
from tests.claims.harness import judged

SLOW = "def short(x, weight):\n    return x @ weight.t()\n"
RIGHT = """
import torch


def short(x, weight):
    return (x.bfloat16() @ weight.bfloat16().t()).to(x.dtype)
"""


@pytest.fixture
def short():
    exercise = Exercise("short")
    exercise.inputs(
        lambda random, rows=(0, 20), columns=16: {
            "x": random.normal(size=(rows, 32)),
            "weight": random.normal(size=(columns, 32)),
        }
    )
    one = {"equal rows": "one number", "one row times 10000": "one number"}
    words = {"why": {"zeros": "of zeros", "": "other bits"}, "try_": "x.bfloat16()"}
    exercise.error_between(5e-4, 1e-2, exact="full precision", skip_families=one, **words)
    exercise.error_between(0.0, 1e-2, of="gradients", skip_families=one, **words)
    exercise.reaches(
        "aten::mm",
        {"rows": 8},
        dtype="bfloat16",
        layout=("row-major", "column-major"),
        without=["aten::bmm"],
        why={"layout": "as it is refused", "dtype": "not short", "": "no product"},
        try_="x.bfloat16()",
    )
    return exercise


def test_right_work_passes(short, tmp_path):
    found = judged(short, RIGHT, SLOW, tmp_path)

    assert ["Passed"] * 3 == [type(it).__name__ for it in found.values()], found


@pytest.mark.parametrize(
    ("text", "check", "words"),
    [
        (SLOW, "same_results", "full precision"),
        (RIGHT.replace("(x.dtype)", "(x.dtype) * 1.02"), "same_results", "other bits"),
        (RIGHT.replace("(x.dtype)", "(x.dtype) / x.abs().sum() * x.abs().sum()"), "same_results", "of zeros"),
        (RIGHT.replace(".to(x.dtype)", ""), "same_results", "16) instead of float32"),
        (RIGHT.replace("weight.", "weight.detach()."), "same_gradients", 'gradient of weight": nothing instead of'),
        (RIGHT.replace(".to(x", " * 1.1).to(x").replace("return (", "return (("), "same_gradients", "other bits"),
        (SLOW, "reaches", "not short"),
        (RIGHT.replace(".t()", ".t().contiguous()"), "reaches", "as it is refused"),
        (SLOW.replace("x @ weight.t()", "(x[None].bfloat16() @ weight.bfloat16().t()[None])[0]"), "reaches", "aten::bmm"),
        ("def short(x, weight):\n    return x[:, :16]\n", "reaches", "no product"),
    ],
)  # fmt: skip
def test_a_mistake_is_told(short, text, check, words, tmp_path):
    found = judged(short, text, SLOW, tmp_path, only=check)[check]

    assert isinstance(found, Failed)
    assert words in f"{found.measured} {found.why}"


def test_what_is_right_but_for_its_smallest_rows_fails(tmp_path):
    """The error of all rows together would not show it."""
    exercise = Exercise("short")

    @exercise.inputs
    def draw(random, rows=30):
        x = random.normal(size=(rows, 32))
        x[3] *= 1e6
        return {"x": x, "weight": random.normal(size=(16, 32))}

    exercise.error_between(0.0, 0.1, why="small rows are lost", try_="a scale")
    lost = SLOW.replace("x @ w", "(x * (x.abs() > 1e3)) @ w")
    found = [judged(exercise, it, SLOW, tmp_path)["same_results"] for it in (RIGHT, lost)]

    assert isinstance(found[0], Passed), found[0]
    assert "without its largest row" in found[1].measured
