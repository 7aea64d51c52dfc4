"""What is drawn can be done: right work passes with every draw."""

from __future__ import annotations

import pytest
import torch

from autograder.labs.gpu_profiling.part6_final import judges
from autograder.labs.gpu_profiling.part6_final.points import SEARCHED
from autograder.labs.gpu_profiling.part6_final.rig.sizes import Sizes

DRAWN = [*SEARCHED, *((8 * eighths, 9, 20) for eighths in range(3, 10))]


def halves(attempt, step):
    """What the handout asks for."""
    while True:
        try:
            attempt(step)
        except torch.OutOfMemoryError:
            if step % 2:
                raise
            step //= 2
        else:
            return step


@pytest.mark.parametrize(("step", "low", "high"), DRAWN)
def test_some_batch_fits_whatever_is_drawn(step, low, high):
    """Halving ends at an odd size, which has to fit: nobody could answer otherwise."""
    searches = [
        {"step": step, "limit": limit, "largest": Sizes.largest(halves, limit, step)}
        for limit in (low, high)
    ]

    measured, why = judges.fits(searches, "RuntimeError")
    assert not why, measured
