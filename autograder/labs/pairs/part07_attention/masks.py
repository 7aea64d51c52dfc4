"""What is claimed of window_mask."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autograder.lab import (
    INTEGER,
    TEXT,
    Failed,
    Pair,
    Passed,
    Student,
    Verdict,
    exactly,
    list_of,
    record,
)
from autograder.labs.pairs.part07_attention import judges
from autograder.labs.pairs.part07_attention.part import part

if TYPE_CHECKING:
    from autograder.labs.pairs.part07_attention.rig import Rig
else:
    Rig = Any

CASES = [(1024, 128), (300, 40), (1000, 100), (257, 1), (130, 400)]
"""Length and window; one more is drawn."""
MASK = record(
    length=INTEGER,
    window=INTEGER,
    kind=TEXT,
    block=exactly(2, INTEGER),
    shape=list_of(INTEGER),
)


@part.probe(
    pair=True,
    values={"masks": exactly(len(CASES) + 1, MASK)},
    arrays={"visible": ("uint8", 1), "blocks": ("uint8", 1)},
    takes=["window_mask"],
)
def masks(student: Student, rig: Rig) -> Any:
    drawn = rig.integer(400, 900), rig.integer(2, 300)
    return rig.masks(student.window_mask, [*CASES, drawn])


@part.check(basis="outputs")
def mask_is_the_window(masks: Pair) -> Verdict:
    """window_mask lets position i see j when i - window < j <= i, and skips every block that holds no such pair."""
    try_ = "(i >= j) & (i - j < window), and create_block_mask with its own block size"
    visible, said = (masks.student.arrays[name] for name in ("visible", "blocks"))
    asked = masks.baseline.values["masks"]
    for case, mask in zip(asked, masks.student.values["masks"], strict=True):
        length, window = case["length"], case["window"]
        where = f"{length} positions, window {window}"
        if problem := judges.form_problem({**mask, "length": length}):
            return Failed(f"{where}: {problem}", "it is no mask with blocks to skip", try_)
        expected = judges.blocks_of(judges.window_pairs(length, window), mask["block"])
        pairs, visible = judges.cut(visible, (length, length))
        blocks, said = judges.cut(said, expected[0].shape)
        problems = (
            judges.pair_problem(pairs.astype(bool), window),
            judges.block_problem(blocks, expected),
        )
        measured = "; ".join(words for words, _ in problems if words)
        if measured:
            why = next(why for _, why in problems if why)
            return Failed(f"{where}: {measured}", why, try_)
    return Passed(f"{len(asked)} masks, pair by pair and block by block")
