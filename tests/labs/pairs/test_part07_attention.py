"""Part 7 of pairs: right work passes on any seed; mistakes are entries of the corpus."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.labs.pairs.part07_attention import judges, part
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


@pytest.mark.parametrize(
    ("block", "some", "every"),
    [
        ([2, 2], [[1, 0, 0], [1, 1, 0], [0, 1, 1]], [[0, 0, 0], [0, 0, 0], [0, 0, 1]]),
        ([8, 8], [[1]], [[0]]),
        ([1, 5], [[1], [1], [1], [1], [1]], [[0], [0], [0], [0], [0]]),
    ],
)
def test_blocks_at_the_end_are_as_large_as_what_is_there(block, some, every):
    found = judges.blocks_of(judges.window_pairs(5, 2), block)
    assert [some, every] == [it.astype(int).tolist() for it in found]


def test_what_is_missing_of_an_answer_counts_as_hidden():
    first, rest = judges.cut(np.ones(3), (2, 2))
    assert [[1, 1], [1, 0]] == first.tolist()
    assert 0 == rest.size
