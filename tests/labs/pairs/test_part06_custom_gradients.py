"""Part 6 of pairs: right work passes on any seed; mistakes are entries of the corpus."""

from __future__ import annotations

import pytest

from autograder.labs.pairs.part06_custom_gradients import part
from tests.labs.bench import Bench, failing

# What a process holds is seen from outside of it.
bench = Bench("pairs", part, without=["head_needs_little"])


def test_the_part_declares_nothing_unknown():
    assert [] == part.problems()


@pytest.mark.parametrize("seed", range(3))
def test_the_reference_passes(judge, seed):
    assert {} == failing(judge(bench.source, seed))
