"""Part 12 of pairs: right work passes on any seed; mistakes are entries of the corpus."""

from __future__ import annotations

import pytest

from autograder.labs.pairs.part12_allocator import part
from autograder.model import Observation
from tests.labs.bench import Bench, failing

bench = Bench("pairs", part)


def test_the_part_declares_nothing_unknown():
    assert [] == part.problems()


@pytest.mark.parametrize("seed", range(4))
def test_the_reference_passes(judge, seed):
    assert {} == failing(judge(bench.source, seed))


def test_the_slow_version_asks_for_each_block(judge):
    verdicts = judge(bench.baseline.read_text(encoding="utf-8"))

    assert {"asks_rarely"} == set(failing(verdicts))
    assert "2400 raw allocations for 2400 requests" in verdicts["asks_rarely"].measured


def test_a_pool_that_asks_a_little_too_often_is_not_told_that_few_blocks_are_used_again():
    told = part.checks["asks_rarely"].judge(Observation("rounds", "ok", {"asked": 30}))

    assert told.why.startswith("free blocks were used again too rarely")
