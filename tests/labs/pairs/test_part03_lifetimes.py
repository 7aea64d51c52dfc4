"""Part 3 of pairs: right work passes on any seed; mistakes are entries of the corpus."""

from __future__ import annotations

import pytest

from autograder.labs.pairs.part03_lifetimes import part
from tests.labs.bench import Bench, failing

# Peaks are seen from outside of a process of its own.
OUTSIDE = {"summarize_holds_one_chunk", "evaluate_keeps_no_graph", "accumulate_needs_little"}
bench = Bench("pairs", part, without=OUTSIDE)


def test_the_part_declares_nothing_unknown():
    assert [] == part.problems()


@pytest.mark.parametrize("seed", range(3))
def test_the_reference_passes(judge, seed):
    assert {} == failing(judge(bench.source, seed))


def test_the_slow_versions_are_right_and_no_more(judge):
    verdicts = judge(bench.baseline.read_text(encoding="utf-8"), 1)

    assert {"evaluate_builds_no_graph", "train_waits_for_nothing"} == set(failing(verdicts))
