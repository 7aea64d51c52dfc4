"""What is drawn can be done: right work passes with every draw."""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace

import torch

from autograder.checks import checklist
from autograder.worker.checklist import Checklist
from autograder.worker.sizes import Attempt


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


def test_some_batch_fits_whatever_is_drawn():
    """Halving ends at an odd size, which has to fit: nobody could answer otherwise."""
    for which, extreme in product(range(3, 10), (min, max)):
        drawn = SimpleNamespace(
            integer=lambda low, high, it=which, end=extreme: (
                it if (low, high) == (3, 9) else end(low, high)
            ),
            number=float,
            sizes=SimpleNamespace(attempt=Attempt),
        )
        seen = Checklist(drawn).searched(halves)

        measured, why = checklist.fits(seen["searches"], seen["other"])
        assert not why, measured
