"""Part 4 of pairs: right work passes on any seed; mistakes are entries of the corpus."""

from __future__ import annotations

import pytest

from autograder.labs.pairs.part04_checkpointing import part
from tests.labs.bench import Bench, failing

# What a process holds is seen from outside of it.
bench = Bench(
    "pairs", part, without=["stack_needs_less", "uneven_stack_needs_less", "cheap_needs_less"]
)


def test_the_part_declares_nothing_unknown():
    assert [] == part.problems()


@pytest.mark.parametrize("seed", range(3))
def test_the_reference_passes(judge, seed):
    assert {} == failing(judge(bench.source, seed))
