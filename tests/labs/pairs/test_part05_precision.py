"""Part 5 of pairs: right work passes on any seed; mistakes are entries of the corpus."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.labs.pairs.part05_precision import part
from autograder.model import Observation, Pair
from tests.labs.bench import Bench, failing

bench = Bench("pairs", part)


def test_the_part_declares_nothing_unknown():
    assert [] == part.problems()


@pytest.mark.parametrize("seed", range(3))
def test_the_reference_passes(judge, seed):
    assert {} == failing(judge(bench.source, seed))


def test_weights_that_never_move_are_not_said_to_be_clipped():
    start, moved = np.full(4, 1 / 3, np.float32), np.ones(4, np.float32)
    sides = (
        Observation("steep", "ok", {}, {"losses": losses, "weights": weights, "start": start})
        for losses, weights in ((np.array([1.0, 1.0]), start), (np.array([1.0, 0.5]), moved))
    )
    pair = Pair(*sides)

    told = part.checks["follows_fp32"].judge(steep=pair, gentle=pair)

    assert "clipped" not in told.why
    assert "steps are left out" in told.why
