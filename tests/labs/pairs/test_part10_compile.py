"""Part 10 of pairs: right work passes on any seed; mistakes are entries of the corpus."""

from __future__ import annotations

import pytest

from autograder.labs.pairs.part10_compile import part
from tests.labs.bench import Bench, failing

pytestmark = pytest.mark.fresh

CLOCK = ("regions_are_faster", "backward_is_faster")
bench = Bench("pairs", part, without=CLOCK)


def test_the_part_declares_nothing_unknown():
    assert [] == part.problems()


@pytest.mark.parametrize("seed", range(3))
def test_the_reference_passes(judge, seed):
    assert {} == failing(judge(bench.source, seed))


def test_the_baseline_answers_alike_and_no_more(judge):
    failed = failing(judge(bench.baseline.read_text(encoding="utf-8")))

    assert {
        "regions_keep_names",
        "captures_little",
        "builds_few",
        "backward_is_captured",
    } == set(failed)
