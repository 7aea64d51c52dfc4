"""Part 7 of pairs: right work passes on any seed; mistakes are entries of the corpus."""

from __future__ import annotations

import pytest

from autograder.labs.pairs.part07_attention import part
from tests.labs.bench import Bench, failing

MEMORY = ("banded_needs_little",)  # seen from outside a worker
bench = Bench("pairs", part, without=MEMORY)


def test_the_part_declares_nothing_unknown():
    assert [] == part.problems()


@pytest.mark.parametrize("seed", range(3))
def test_the_reference_passes(judge, seed):
    assert {} == failing(judge(bench.source, seed))


@pytest.mark.parametrize("number", [float("nan"), 0.0, 1.0, 1e308])
def test_a_mask_of_any_numbers_is_judged(number):
    for found in bench.spoilt("mask_is_the_window", number):
        assert "Failed" == type(found).__name__
