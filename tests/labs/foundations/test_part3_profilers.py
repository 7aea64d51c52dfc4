"""Part 3 of foundations: right work passes on any seed; mistakes are entries of the corpus."""

from __future__ import annotations

import math

import numpy as np
import pytest

from autograder.labs.foundations.part3_profilers import draw_gain, gain, judges, part
from autograder.model import Unavailable
from tests.labs.bench import Bench, failing

bench = Bench("foundations", part)
pytestmark = pytest.mark.filterwarnings("ignore")
REPORT = (bench.reference / "calls_top20.txt").read_text(encoding="utf-8")


def test_the_part_declares_nothing_unknown():
    assert [] == part.problems()


@pytest.mark.parametrize("seed", range(3))
def test_the_reference_passes_and_speed_waits_for_a_clock(judge, seed):
    verdicts = judge(bench.source, seed)

    assert {} == failing(verdicts)
    assert {"preprocess_is_faster"} == {
        name for name, it in verdicts.items() if isinstance(it, Unavailable)
    }


def test_each_mistake_about_a_gain_has_a_number_also_where_the_longest_function_is_asked_for():
    draws = [draw_gain(np.random.default_rng(seed), 8, math.inf) for seed in range(100)]
    of_longest = [gain(**draw, whole=max) for draw in draws]

    assert math.inf in of_longest
    assert all(1 < gain(**draw) < math.inf for draw in draws)


SPOILT = {
    'no line "Ordered by': ("Ordered by: cumulative time", "Ordered by: internal time"),
    "rows of pstats, and at least 10": ("\n        ", "\n  -     "),
    "no row of train_epoch": ("(train_epoch)", "(train)"),
    "cumtime rises": ("    0.605    ", "    0.805    "),
}


def test_the_reference_report_is_one():
    rows, problem = judges.report(REPORT)

    assert (20, "") == (len(rows), problem)


@pytest.mark.parametrize("words", SPOILT)
def test_a_report_of_something_else_is_told(words):
    assert words in judges.report(REPORT.replace(*SPOILT[words]))[1]
