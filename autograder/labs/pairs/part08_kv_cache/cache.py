"""What is claimed of KVCache."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from autograder.claims.calls import Drawn
from autograder.claims.exercise import Exercise
from autograder.claims.families import Sizes
from autograder.labs.pairs.part08_kv_cache.part import EXACT, WRONG, part

Drawing = tuple[dict[str, Any], list[Drawn]]
cache = Exercise("KVCache", part, call=lambda written, inputs: filled(written, **inputs))


def made(written: Any, inputs: Mapping[str, Any], rig: Any) -> Any:
    return rig.made_cache(written, inputs)


def script(
    random: np.random.Generator,
    batch: Any = (1, 5),
    heads: Any = range(1, 4),
    capacity: Any = (2, 9),
    precision: Any = "float32",
) -> Drawing:
    """Appends that fill the first buffer and the next ones; sequences that are kept, repeated and moved."""
    size, now = 4, batch
    calls: list[Drawn] = [("length",)]
    for count in (7, 1, 1, 3, 0, 2, 1, 16, 0, 1):
        if not count:
            rows = random.integers(0, now, random.integers(1, 5)).tolist()
            calls += [("keep", rows), ("length",)]
            now = len(rows)
        else:
            keys, values = random.normal(size=(2, now, heads, count, size))
            calls.append(("append", (keys, precision), (values, precision)))
    inputs = {"batch": batch, "heads": heads, "size": size, "capacity": capacity}
    inputs["precision"] = precision
    return inputs, [*calls, ("length",)]


cache.calls(
    script,
    {"bfloat16": {"precision": "bfloat16"}, "a capacity of 1": {"capacity": 1}},
    make=made,
    within=EXACT,
    name="follows_the_script",
    says="append returns the keys and values of all positions so far; keep picks, moves and repeats sequences.",
    why={
        "keep(": "keep returns nothing",
        "length": "length is the number of positions, so n more after an append of n",
        "": "the keys and values of all positions so far are returned, of the sequences that were kept, in their order",
    },
    try_=f"buffer[:, :, start:start + n] = keys, and a larger buffer before it is full; {WRONG}",
)
cache.calls(
    script,
    make=made,
    overwrites=True,
    within=EXACT,
    name="copies_what_it_takes",
    says="The caller may write over its tensors after an append, and earlier results keep their values.",
    needs=["follows_the_script"],
    why={
        "at the end": "what was returned earlier has changed: a later call wrote over it",
        "": "the caller's own tensor is kept instead of a copy, and the caller has written over it",
    },
    try_="copy keys and values into the buffer; write behind what was returned, never over it",
)


@cache.inputs
def draw(
    random: np.random.Generator,
    batch: Any = 4,
    heads: Any = 2,
    size: Any = 8,
    positions: Any = (2, 64),
) -> dict[str, Any]:
    shape = (batch, heads, positions, size)
    return {"keys": random.normal(size=shape), "values": random.normal(size=shape)}


def filled(written: Any, keys: Any, values: Any) -> Any:
    """Append position after position, and return all of them."""
    batch, heads, _, size = keys.shape
    cache = written(batch, heads, size, dtype=keys.dtype, device=keys.device)
    for pair in zip(keys.split(1, dim=2), values.split(1, dim=2), strict=True):
        returned = cache.append(*pair)
    return returned


GROWS = (
    "twice as much room whenever the buffer is full, and the append writes its own position only"
)
cache.moves_at_most(
    {"positions": 256},
    {"positions": 2048},
    at_most=12.2,  # 2.3 for each doubling
    name="moves_linearly",
    says="8 times as many appends move at most 12.2 times as many bytes.",
    needs=["follows_the_script"],
    why="everything is copied for each append, or the buffer grows by a fixed number of positions",
    try_=GROWS,
)
LONG: Sizes = {"batch": 8, "heads": 4, "size": 32, "positions": 1024}
cache.faster(
    LONG,
    name="append_is_faster",
    says="1024 appends are at least {bar} as fast as with torch.cat.",
    needs=["follows_the_script"],
    why="bound by memory: all positions are copied for each append, joined, cloned, or stacked from a list of pieces",
    try_=f"return views of the buffer; {GROWS}",
)
