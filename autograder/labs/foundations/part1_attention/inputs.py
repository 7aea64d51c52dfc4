"""What a call of attention is given."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograder.checks.numerics import Array
from autograder.claims.exercise import Exercise
from autograder.labs.foundations.part1_attention.part import part

EVEN = 256  # positions: a multiple of every usual block, so that what else is asked shows in its own check
VIEW, SHARED = "views by transpose(1, 2)", "k and v expanded from one head"


def same_keys_but_one(q: Array, k: Array) -> None:
    """Let each key be the first, but for one in the middle."""
    at = k.shape[-2] // 2
    other = k[..., at, :].copy()
    k[:] = k[..., :1, :]
    k[..., at, :] = other


def scores_almost_equal(q: Array, k: Array) -> None:
    """Let softmax be nearly even: by some thousandths it is not."""
    q *= 2**-5
    k *= 2**-5


def scores_almost_equal_later(q: Array, k: Array) -> None:
    """Let it be so for the second half of the positions."""
    q[..., q.shape[-2] // 2 :, :] *= 2**-10


def keys_are_q_at_first(q: Array, k: Array) -> None:
    """Let the scores be symmetric, in the first half."""
    half = q.shape[-2] // 2
    k[..., :half, :] = q[..., :half, :]


def large(q: Array, k: Array) -> None:
    """Let scores be some thousands."""
    q *= 30
    k *= 30


def far_below_zero(q: Array, k: Array) -> None:
    """Let all scores be far below zero."""
    q += 20
    k -= 20


SHAPED = {
    "all keys the same but one": same_keys_but_one,
    "scores almost equal": scores_almost_equal,
    "scores almost equal in the second half": scores_almost_equal_later,
    "k is q in the first half": keys_are_q_at_first,
}
"""Something that a look at a part of the inputs takes for all of them."""
LARGE = {"large logits": large, "logits far below zero": far_below_zero}

attention = Exercise(
    "attention",
    part,
    holes={"read_as_contiguous": "takes_any_layout_and_dtype is the check that tells it"},
)


@attention.inputs
def draw(
    random: np.random.Generator,
    batch: Any = (1, 3),
    heads: Any = (1, 4),
    length: Any = EVEN,
    keys: Any = 0,
    size: Any = range(8, 33, 8),
    causal: Any = False,
    kind: Any = "",
    layout: Any = "",
) -> dict[str, Any]:
    lengths = (length, *[keys or length] * 2)
    q, k, v = (random.normal(size=(batch, heads, each, size)) for each in lengths)
    if kind:
        (SHAPED | LARGE)[kind](q, k)
    if layout == VIEW:
        q, k, v = (each.swapaxes(1, 2).copy().swapaxes(1, 2) for each in (q, k, v))
    if layout == SHARED:
        k, v = (np.broadcast_to(each[:, :1], each.shape) for each in (k, v))
    if layout == "strided":
        q = q.swapaxes(2, 3).copy().swapaxes(2, 3)
    return {"q": q, "k": k, "v": v, **({"causal": True} if causal else {})}
