"""Judges a block mask: which pairs of positions count, and which blocks are skipped."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from autograder.checks.numerics import Array

LARGEST = 128
"""Of a block: larger ones leave little to skip."""
SOME, ALL = 1, 2
"""What a mask says of a block that is not skipped; see rig.py."""


def window_pairs(length: int, window: int) -> Array:
    """Return which position i (row) sees which j (column)."""
    i = np.arange(length)[:, None]
    j = np.arange(length)
    pairs: Array = (j <= i) & (i - window < j)
    return pairs


def blocks_of(pairs: Array, block: list[int]) -> tuple[Array, Array]:
    """Return which blocks hold a pair that counts, and which hold no other."""
    rows, columns = (-(-len(pairs) // size) for size in block)
    padding = [
        (0, count * size - len(pairs)) for count, size in zip((rows, columns), block, strict=True)
    ]
    some, every = (np.pad(pairs, padding, constant_values=fill) for fill in (False, True))
    shape = (rows, block[0], columns, block[1])
    held = np.asarray(some.reshape(shape).any(axis=(1, 3)))
    full = np.asarray(every.reshape(shape).all(axis=(1, 3)))
    return held, full


def cut(numbers: Array, shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Cut the first so many numbers off, and return them and the rest; what is missing counts as 0."""
    size = math.prod(shape)
    first = numbers[:size]
    return np.pad(first, (0, size - first.size)).reshape(shape), numbers[size:]


def form_problem(mask: Mapping[str, Any]) -> str:
    """Say what is wrong with what was returned, before anybody looks at its pairs; or nothing."""
    length = mask["length"]
    if mask["kind"] != "BlockMask":
        return f"{mask['kind']} was returned, and a BlockMask is expected"
    if mask["shape"] != [1, 1, length, length]:
        return f"the mask has shape {tuple(mask['shape'])}; expected (1, 1, {length}, {length})"
    if max(mask["block"]) > LARGEST or min(mask["block"]) < 1:
        return f"its blocks are {mask['block'][0]} x {mask['block'][1]}; expected at most {LARGEST}"
    return ""


def pair_problem(visible: Array, window: int) -> tuple[str, str]:
    """Say which position sees a wrong one, and why; or nothing."""
    expected = window_pairs(len(visible), window)
    wrong = np.argwhere(visible != expected)
    if not len(wrong):
        return "", ""
    i, j = (int(it) for it in wrong[0])
    if not visible[i, j]:
        return (
            f"position {i} does not see position {j}",
            "a position sees itself and window - 1 before it",
        )
    if j > i:
        return f"position {i} sees position {j}", "a position must not see a later one: i >= j"
    extra = int((visible & ~expected).sum(axis=1).max())
    why = (
        "one key too many: i - j < window" if extra == 1 else "keys before the window count as well"
    )
    return f"position {i} sees position {j}", why


def block_problem(said: Array, expected: tuple[Array, Array]) -> tuple[str, str]:
    """Say how many blocks are skipped, and why that is wrong; or nothing."""
    some, every = expected
    measured = f"{np.mean(said == 0):.2%} of the blocks are empty, {np.mean(~some):.2%} expected"
    if (some & (said == 0)).any():
        return measured, "a block that holds visible keys is skipped"
    if ((said == ALL) & ~every).any():
        return measured, "a block counts as full, and some of its pairs are hidden"
    wrong = (~some & (said != 0)).any()
    return (measured, "blocks without any visible key are computed") if wrong else ("", "")
