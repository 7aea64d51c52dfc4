"""Three exercises as an author writes them: right work passes every claim, each mistake fails the claim it breaks."""

from __future__ import annotations

import pytest

from autograder.claims.exercise import Exercise
from autograder.model import Failed, Passed, Unavailable
from tests.claims import exercises
from tests.claims.harness import judged
from tests.claims.written import RIGHT, SLOW, WRONG

BY_NAME = {it.function: it for it in (exercises.products, exercises.clip, exercises.cache)}


@pytest.mark.parametrize(("name", "style"), RIGHT, ids=[" ".join(each) for each in RIGHT])
def test_right_work_passes_whatever_its_style(name, style, tmp_path):
    found = judged(BY_NAME[name], RIGHT[name, style], SLOW[name], tmp_path)

    assert set(BY_NAME[name].part.checks) == set(found)
    assert [] == [
        (check, it) for check, it in found.items() if not isinstance(it, Passed | Unavailable)
    ]


@pytest.mark.parametrize(("name", "mistake"), WRONG, ids=[" ".join(each) for each in WRONG])
def test_a_mistake_fails_the_claims_that_it_breaks(name, mistake, tmp_path):
    text, fails = WRONG[name, mistake]
    found = judged(BY_NAME[name], text, SLOW[name], tmp_path)
    failed = {
        check: f"{it.measured} {it.why}" for check, it in found.items() if isinstance(it, Failed)
    }

    assert {check for check in fails if check != "is_faster"} == set(failed)
    for check, words in failed.items():
        assert fails[check] in words


def test_a_result_has_the_dtype_that_the_slow_version_gives_it(tmp_path):
    """Whatever the dtypes of its inputs, and beside whole numbers."""
    norms = Exercise("norms")

    @norms.inputs
    def draw(random, rows=(1, 5)):
        return {
            "x": (random.normal(size=(rows, 4)), "bfloat16"),
            "keep": random.random((rows, 4)) < 0.5,
        }

    norms.same(why="the norm in float32", try_="x.float()", dtypes=[], gradients=[])
    right = "def norms(x, keep):\n    return (x.float() * keep).norm(dim=1), keep.sum(), x * 2\n"
    found = [
        judged(norms, text, right, tmp_path)["same_results"]
        for text in (right, right.replace(".float()", ""))
    ]

    assert isinstance(found[0], Passed)
    assert "drawn sizes, result 1: bfloat16" in found[1].measured
