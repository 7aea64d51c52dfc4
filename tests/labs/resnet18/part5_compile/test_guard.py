"""The guard of part 5: a count that is wrong is told by the batch that it first differs after."""

from __future__ import annotations

import pytest

from autograder.labs.resnet18.part5_compile import guard

CASES = [
    f"{what} of batch {number} ({size} the limit), {how}"
    for how in ("not compiled", "compiled")
    for number, size in enumerate(("above", "below"), 1)
    for what in ("output", "gradient")
]


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        pytest.param([1, 2, 1, 2], "counts this batch, which is not above", id="each batch"),
        pytest.param([8, 8, 8, 8], "adds more than 1 for this batch", id="its samples"),
        pytest.param([2, 2, 2, 2], "or spikes is not 0 in a new SpikeGuard", id="begins at 1"),
        pytest.param([1, 1, 2, 2], "or spikes is not 0 in a new SpikeGuard", id="shared by all"),
        pytest.param([1, 0, 1, 0], "forgets what it counted before", id="the last one alone"),
        pytest.param([0, 0, 0, 0], "does not count this batch", id="none"),
        pytest.param([0, 0, 1, 1], "usually your code does not count in eval()", id="in train()"),
        pytest.param([None] * 4, "spikes must be a number", id="no number"),
    ],
)
def test_a_count_is_told_by_the_batch_that_it_first_differs_after(counts, words):
    assert words in guard._miscounted(counts, [1, 1, 1, 1], CASES).why
