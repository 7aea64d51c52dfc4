"""What is claimed of window_mask."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from autograder.claims.exercise import Exercise
from autograder.claims.families import Sizes
from autograder.labs.pairs.part07_attention.part import part

CASES = [(1024, 128), (300, 40), (1000, 100), (257, 1), (130, 400)]


def read(written: Any, inputs: Mapping[str, Any]) -> Any:
    from autograder.labs.pairs.part07_attention import rig

    length, window, rows = (inputs[name] for name in ("length", "window", "rows"))
    return rig.mask_read(written(length, window, "cpu"), rows)


def of(sees: Callable[[Any, Any, int], Any]) -> Callable[..., Any]:
    """Return what is read of a mask with which i sees j when sees(i, j, window)."""

    def right(length: int, window: int, rows: list[int]) -> Any:
        from autograder.labs.pairs.part07_attention import rig

        return rig.pairs_read(lambda i, j: sees(i, j, window), length, rows)

    return right


masks = Exercise(
    "window_mask",
    part,
    call=read,
    holes={"empties_its_inputs": "it is given two numbers: the list of rows is the check's own"},
)


@masks.inputs
def draw(
    random: np.random.Generator, length: Any = (150, 900), window: Any = (2, 120)
) -> dict[str, Any]:
    rows = [0, *random.integers(0, length, 30).tolist(), length - 1]
    return {"length": length, "window": window, "rows": rows}


SIZES: Mapping[str, Sizes] = {
    f"{length} positions, window {window}": {"length": length, "window": window}
    for length, window in CASES
}
masks.same(
    SIZES,
    oracle=of(lambda i, j, window: (i >= j) & (i - j < window)),
    slips={
        "one key too many: i - j < window": of(lambda i, j, window: (i >= j) & (i - j <= window)),
        "a position must not see a later one": of(lambda i, j, window: abs(i - j) < window),
        "every earlier position counts, not only the window": of(lambda i, j, _: i >= j),
        "a position must see itself": of(lambda i, j, window: (i > j) & (i - j < window)),
    },
    name="mask_is_the_window",
    says="window_mask lets position i see j when i - window < j <= i, and skips each block without such a pair.",
    why={
        "pairs": "i must see j when i - window < j <= i",
        "": "a block is empty when none of its pairs counts, and no other is",
    },
    try_="(i >= j) & (i - j < window), and create_block_mask with its own block size",
)
