"""Part 4 of pairs: right work passes on any seed; mistakes are entries of the corpus."""

from __future__ import annotations

import pytest

from autograder.labs.pairs.part04_checkpointing import part
from autograder.model import Observation, Pair
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


@pytest.mark.parametrize("kept", [0, 100])
def test_bytes_alone_do_not_say_which_blocks_are_computed_again(kept):
    """Half of the numbers, or no gradient, keep less as well; and a list of outputs more."""
    sides = (Observation("it", "ok", {"kept": [it] * 3}) for it in (kept, 100))

    assert part.checks["blocks_hold_less"].judge(Pair(*sides)).why.startswith("usually")
