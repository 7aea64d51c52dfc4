"""What is claimed of banded_attention: numbers, memory and operations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from autograder.claims.exercise import Exercise
from autograder.claims.families import Sizes
from autograder.labs.pairs.part07_attention.flex import LARGE
from autograder.labs.pairs.part07_attention.part import part


def attend(written: Any, inputs: Mapping[str, Any]) -> Any:
    """Call it, with gradients where an upstream one was drawn."""
    from autograder.labs.pairs.part07_attention import rig

    window = inputs["window"]
    if "upstream" in inputs:
        return rig.with_gradients(lambda *leaves: written(*leaves, window), inputs)
    return written(*(inputs[name] for name in "qkv"), window)


banded = Exercise("banded_attention", part, call=attend)


@banded.inputs
def draw(
    random: np.random.Generator,
    batch: Any = (1, 3),
    heads: Any = (1, 4),
    length: Any = (0, 200),
    size: Any = range(8, 33, 8),
    window: Any = (1, 150),
    trains: Any = True,
) -> dict[str, Any]:
    shape = (batch, heads, length, size)
    q, k, v, upstream = (random.normal(size=shape) for _ in range(4))
    # Where one key is seen, the gradients of q and k are 0 but for rounding.
    trains = trains and min(length, window) != 1
    return {"q": q, "k": k, "v": v, "window": window} | ({"upstream": upstream} if trains else {})


# Measured with torch 2.15 on a CPU, 15 seeds: results 1e-6; gradients 7.5e-5, of rows that are nearly 0.
# Scores by hand in bfloat16 were off by 2.6e-2.
CLOSE = {"float32": 5e-4, "bfloat16": 8e-2}
CUT = "rows start ... stop see the keys max(0, start - window + 1) ... stop"
banded.same(
    {
        "257 positions": {"batch": 1, "length": 257},
        "1000 positions": {"batch": 1, "heads": 2, "length": 1000},
        "a window of everything": {"length": (60, 120), "window": 300},
        "bfloat16": {"dtype": "bfloat16", "trains": False},
    },
    within=CLOSE,
    gradients=(),
    skip_families=dict.fromkeys(("times 1000", "one row times 10000", "heavy tails"), LARGE),
    name="banded_matches",
    says="banded_attention returns the attention of the window, and the gradients of q, k and v.",
    why={
        "gradient": "the result is right, and a gradient is not: something is detached, or keys that two "
        "blocks of rows share get only one of two shares",
        "257": "the last block of rows is shorter, and must not be left out",
        "": "position i must see j when i - window < j <= i, and no other",
    },
    try_=f"{CUT}; compare with the baseline at 5 positions and a window of 2",
)

LONG: Sizes = {"batch": 1, "heads": 4, "size": 32, "window": 128, "trains": False}
banded.needs_less_memory(
    0.05,
    {**LONG, "heads": 1, "length": 8192},
    {**LONG, "heads": 1, "length": 16},
    name="banded_needs_little",
    says="At 8192 positions and a window of 128, banded_attention needs at most 5 % of the slow version's memory, "
    "measured from outside.",
    why="a matrix of n x n is in memory: scores, or a mask, or keys copied for each row",
    try_=CUT,
)
banded.operations_do_not_grow(
    {**LONG, "length": 512},
    {**LONG, "length": 2048},
    more=2048 - 512 - 1,
    name="rows_per_operation",
    says="The operations of banded_attention grow by less than one for each position that is added.",
    needs=["banded_needs_little"],
    why="a loop over positions: each row needs its own calls",
    try_="64 to 256 rows at a time",
)
