"""What is claimed of memory and speed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from autograder.lab import Close
from autograder.labs.foundations.part1_attention.inputs import EVEN, attention
from autograder.labs.foundations.part1_attention.numbers import MASKS

WIDTH = 32  # head_dim of the long cases
LONG = {"batch": 1, "heads": 1, "size": WIDTH}
BLOCKS = (
    "call scaled_dot_product_attention, or compute a block of rows at a time, and keep no block"
)


def matrix(given: Mapping[str, Any]) -> int:
    """Return the bytes of one matrix of scores."""
    return int(4 * given["q"].shape[-2] ** 2)


attention.keeps_at_most(
    {**LONG, "length": 2 * EVEN},
    {**LONG, "length": 8 * EVEN},
    also={"strided": {**LONG, "length": 8 * EVEN, "layout": "strided"}},
    at_most=6,  # 16 times is the square of the length
    more=4e5,
    name="keeps_little_for_backward",
    says="What autograd keeps grows with the length, not with its square; also where q's last stride is not 1.",
    why={
        "strided": (
            "the matrix is kept: usually scaled_dot_product_attention falls back for such a q",
            "if q.stride(-1) != 1: q = q.contiguous()",
        ),
        "": (
            "usually autograd keeps scores or weights of all positions",
            "call scaled_dot_product_attention, or checkpoint each block of rows with all its keys",
        ),
    },
    try_=BLOCKS,
)
attention.needs_less_memory(
    0.5,
    {**LONG, "length": range(31 * EVEN, 33 * EVEN + 1, EVEN)},
    LONG,
    of=matrix,
    name="lean_forward",
    says="At 8,000 positions attention needs less than half of one matrix of scores, measured from outside.",
    why="usually the scores of all positions are in memory at once",
    try_=BLOCKS,
)
attention.needs_less_memory(
    0.5,
    {**LONG, "length": range(21 * EVEN, 22 * EVEN + 1, EVEN), "causal": True},
    LONG,
    of=matrix,
    backward=True,
    name="lean_backward",
    says="With causal, forward and backward at 5,600 positions need less than half of one matrix, measured from "
    "outside.",
    needs=[MASKS, "gradients_match", "lean_forward"],
    why="usually a whole mask is in memory, or the backward pass keeps all weights",
    try_="fix keeps_little_for_backward first if it fails; else is_causal=True, or a mask for each block alone",
)
attention.faster(
    {"batch": 1, "heads": 4, "length": range(896, 1153, 128), "size": WIDTH, "causal": True},
    Close(
        rtol=1e-4, atol=1e-5
    ),  # a late row is a mean of many: 0.1, of which 16 bits are wrong by 1e-4
    name="attention_is_faster",
    says="Causal attention at 1,000 positions is at least {bar} as fast as by hand.",
    needs=[MASKS],
    why="bound by memory: usually the scores still go to memory and back",
    slower="bound by launches: many small calls cost more than the scores; take larger blocks, or one call for all",
    try_=BLOCKS,
)
