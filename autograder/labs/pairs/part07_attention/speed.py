"""What the clock decides."""

from __future__ import annotations

from autograder.lab import Close
from autograder.labs.pairs.part07_attention.banded import CUT, LONG, banded
from autograder.labs.pairs.part07_attention.flex import windowed

banded.faster(
    {**LONG, "length": 2048},
    Close(rtol=1e-4, atol=1e-5),
    name="banded_is_faster",
    says="At 2048 positions and a window of 128, banded_attention is at least {bar} as fast as the slow version.",
    why="bound by launches if rows are taken one by one, else by memory: scores outside of the band are computed",
    try_=f"64 to 256 rows at a time; {CUT}",
)
windowed.faster(
    {
        "batch": 1,
        "heads": 8,
        "length": 2048,
        "size": 64,
        "window": 128,
        "sloped": False,
        "trains": True,
    },
    Close(rtol=1e-3, atol=1e-4),
    name="flex_is_faster",
    says="On a GPU, compiled, windowed_attention with its gradients is at least {bar} as fast as the slow version.",
    needs=["flex_is_reached"],
    why="bound by arithmetic: blocks that hold nothing are computed",
    try_="flex_attention with block_mask=mask",
)
