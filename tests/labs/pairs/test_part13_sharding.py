"""Part 13 of pairs: right work passes; mistakes are entries of the corpus."""

from __future__ import annotations

import pytest

from autograder.labs.pairs.part13_sharding import part
from tests.labs.bench import Bench, failing

bench = Bench("pairs", part)


def test_the_part_declares_nothing_unknown():
    assert [] == part.problems()


@pytest.mark.parametrize("seed", range(2))
def test_the_reference_passes(judge, seed):
    assert {} == failing(judge(bench.source, seed))


def test_the_baseline_trains_as_one_and_no_more(judge):
    failed = failing(judge(bench.baseline.read_text(encoding="utf-8")))

    assert {"holds_its_share", "gathers_block_by_block", "reduced_precision"} == set(failed)
