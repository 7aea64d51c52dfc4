"""A comparison of two profiles is judged: rows, verdict, page."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.checks import outputs
from autograder.labs.gpu_profiling.bonus import judges, kernels
from autograder.model import Failed, Observation, Pair, Passed

ROWS = [
    {"range": "load", "before_ms": 10.0, "after_ms": 4.0, "change_ms": -6.0},
    {"range": "forward", "before_ms": 20.0, "after_ms": 21.0, "change_ms": 1.0},
]
PAGE = """Not slower: 30.5 ms before, 25.5 ms after

| range | before_ms | after_ms | change_ms |
|---|---|---|---|
| load | 10.00 | 4.00 | -6.00 |
| forward | 20.00 | 21.00 | +1.00 |
"""
KNOWN = {"before_ms": 30.5, "after_ms": 25.5, "slower": False, "rows": ROWS, "page": ""}
TOLD = {**KNOWN, "page": PAGE}


def row(number, **change):
    return {**TOLD, "rows": [{**it, **change} if i == number else it for i, it in enumerate(ROWS)]}


@pytest.mark.parametrize(
    ("told", "words"),
    [
        pytest.param(TOLD, "", id="right"),
        pytest.param(
            {**TOLD, "rows": ROWS[:1]}, "no row is of the range 'forward'", id="a range is missing"
        ),
        pytest.param(
            {**TOLD, "rows": [*ROWS, ROWS[0]]},
            "are of forward, load, load; right: forward, load",
            id="a range comes twice",
        ),
        pytest.param(
            row(0, before_ms=30.0),
            "before_ms of 'load' is 30, and 10 is right",
            id="three steps in one",
        ),
        pytest.param(row(0, after_ms=None), "after_ms of 'load' is None", id="nothing"),
        pytest.param(
            row(1, change_ms=-1.0),
            "change_ms of 'forward' is -1, and 1 is right",
            id="the wrong way",
        ),
        pytest.param({**TOLD, "rows": ROWS[::-1]}, "abs(change_ms) is 1, 6", id="another order"),
    ],
)
def test_rows(told, words):
    assert_says(judges.row_problem(told, KNOWN), words)


@pytest.mark.parametrize(
    ("page", "words"),
    [
        pytest.param(PAGE, "", id="right"),
        pytest.param(
            "\n".join(line.strip("|") for line in PAGE.splitlines()), "", id="no bars at the ends"
        ),
        pytest.param(PAGE.replace("Not slower", "**Not** slower"), "", id="emphasis"),
        pytest.param(
            PAGE.replace("Not slower", "Slower"),
            "says slower, and slower is False",
            id="another verdict",
        ),
        pytest.param(None, "profile_report.md is missing", id="no page"),
        pytest.param("", "profile_report.md is empty", id="nothing on it"),
        pytest.param(
            PAGE.replace("Not slower", "A comparison"), "does not say whether", id="no verdict"
        ),
        pytest.param(
            PAGE.replace("| load", "| wait"), "; load | 10 | 4 | -6 was returned", id="another name"
        ),
        pytest.param(
            PAGE.replace("21.00", "23.00"),
            "after_ms of 'forward': the page has 23.00; the row 21",
            id="another number",
        ),
        pytest.param(
            PAGE.replace(" -6.00 |", ""),
            "; load | 10 | 4 | -6 was returned",
            id="a column is missing",
        ),
        pytest.param(
            PAGE.replace("-6.00", "less"), "change_ms of 'load': the page has less", id="words"
        ),
    ],
)
def test_pages(page, words):
    assert_says(judges.page_problem({**TOLD, "page": page}, KNOWN), words)


@pytest.mark.parametrize(
    ("told", "kind", "words"),
    [
        pytest.param([TOLD, TOLD], Passed, "2 pairs of made profiles", id="both"),
        pytest.param(
            [TOLD, row(0, before_ms=1.0)],
            Failed,
            "case \"made profiles 2\": before_ms of 'load' is 1",
            id="the second",
        ),
    ],
)
def test_each_pair_of_profiles_is_judged(told, kind, words):
    run = Pair(*(Observation("nights", "ok", {"reports": it}) for it in (told, [KNOWN, KNOWN])))

    found = judges.each(run, judges.row_problem, "why", "try")

    assert isinstance(found, kind)
    assert words in found.measured


def assert_says(found, words):
    assert words in found
    assert bool(words) == bool(found)


def numbers(array):
    case = {"case": "3 images", "shape": [3, 1, 10, 11], "dtype": "float32"}
    return Observation("fused", "ok", {"cases": [case]}, {"numbers": array})


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        pytest.param(np.s_[:, :, -1, :], "only numbers at a border are wrong", id="a border"),
        pytest.param(np.s_[-1:, :, -1, 1:], "an index is wrong", id="the last block is left out"),
        pytest.param(np.s_[2:], "from image 2 on", id="a later image"),
        pytest.param(np.s_[:, :, 3:5, :], "an index is wrong", id="inside"),
    ],
)
def test_a_border_is_told_from_an_end_that_is_left_out(wrong, words):
    right = np.random.default_rng(0).uniform(1.0, 2.0, size=(3, 1, 10, 11))
    own = right.copy()
    own[wrong] = 0.0
    run = Pair(numbers(own.ravel()), numbers(right.ravel()))
    failed = outputs.same(run, kernels.SAME, why="an index is wrong", try_="")

    assert words in kernels._placed(run, failed).why
