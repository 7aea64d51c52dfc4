"""What is claimed of the numbers: results and gradients of the formula, whatever the inputs."""

from __future__ import annotations

from functools import partial

from autograder.claims.families import Sizes
from autograder.labs.foundations.part1_attention.inputs import (
    EVEN,
    LARGE,
    SHAPED,
    SHARED,
    VIEW,
    attention,
)

Cases = dict[str, Sizes]
ODD = "no multiple of 64"
SMALL: Sizes = {"batch": 1, "heads": 2, "size": 16}


def causal(cases: Cases) -> Cases:
    """Return the same cases with causal."""
    return {f"{name}, causal": {**sizes, "causal": True} for name, sizes in cases.items()}


# Relative to the largest number of a row. Measured 2026-11-23 on a CPU with torch 2.15, 25 seeds, the largest of fused
# and by hand: float32 2.1e-6, gradients 5.0e-5 (of rows that are 0 but for rounding), large logits 4.0e-4; bfloat16 in
# 300 draws of 128 positions 3.4e-2 (by hand). By hand in bfloat16 instead of float32: 1.2e-2.
CLOSE = {"float32": 1e-5, "bfloat16": 8e-2}
FORMULA: Cases = {
    f"{EVEN} positions": {},
    **{kind: {**SMALL, "kind": kind} for kind in SHAPED},
    f"{2 * EVEN} positions": {**SMALL, "length": 2 * EVEN},
    "other numbers in the same tensors": {**SMALL, "length": 2 * EVEN, "again": True},
}
ANY_ODD: Sizes = {"length": range(3, 70, 2)}
ONE: Sizes = {"length": 1}
SHAPES: Cases = {
    "128 positions, 256 keys": {**SMALL, "length": 128, "keys": 256},
    "256 positions, 128 keys": {**SMALL, "length": 256, "keys": 128},
    f"257 positions, {ODD}": {**SMALL, "length": 257},
    f"9 positions, 200 keys, {ODD}": {**SMALL, "length": 9, "keys": 200},
    f"70 positions, 20 keys, {ODD}": {**SMALL, "length": 70, "keys": 20},
    **{f"an odd length, {ODD}, {time}": ANY_ODD for time in ("once", "twice", "again")},
    f"one position, {ODD}": ONE,
}
MASKED: Cases = {
    **{f"an odd length, {ODD}, {time}": ANY_ODD for time in ("once", "twice", "again")},
    f"one position, {ODD}": ONE,
    f"131 positions, {ODD}": {**SMALL, "length": 131},
    f"300 positions, {ODD}": {**SMALL, "length": 300},
}
SEVERAL: Sizes = {"batch": (2, 3), "heads": (2, 4)}  # only where no dimension is 1 a layout shows
LAYOUTS: Cases = {
    VIEW: {**SEVERAL, "layout": VIEW},
    "every second number": {**SEVERAL, "view": "sliced"},
    SHARED: {**SEVERAL, "layout": SHARED},
    "bfloat16": {"dtype": "bfloat16", "length": EVEN // 2},
}
LOGITS: Cases = {kind: {**SMALL, "kind": kind} for kind in LARGE}
GRADIENTS: Cases = {
    f"{EVEN} positions": {},
    f"{EVEN} positions, causal": {"causal": True},
    f"{VIEW}, causal": {**LAYOUTS[VIEW], "causal": True},
    f"an odd length, {ODD}": ANY_ODD,
    f"150 positions, {ODD}": {**SMALL, "length": 150},
    f"9 positions, 100 keys, {ODD}": {**SMALL, "length": 9, "keys": 100},
    f"an odd length, {ODD}, causal": {**ANY_ODD, "causal": True},
}
alike = partial(attention.same, within=CLOSE, gradients=(), dtypes=(), families=())
MASKS = "masks_the_future"
FAILED = {"causal": MASKS}

alike(
    FORMULA,
    slips={
        (
            "the scores are not divided by sqrt(head_dim)",
            "q @ k.mT / q.shape[-1] ** 0.5",
        ): lambda q, k, v: (q @ k.mT).softmax(-1) @ v,
        (
            "softmax runs over the positions, and must run over the keys",
            "softmax(dim=-1) of scores that have a row for each position and a column for each key",
        ): lambda q, k, v: (q @ k.mT / q.shape[-1] ** 0.5).softmax(-2) @ v,
    },
    name="matches_by_hand",
    says="attention returns what the formula gives, for lengths that are multiples of 256.",
    why="softmax over the keys (the last dimension) of q k^T / sqrt(head_dim), then the product with v, "
    "gives a different number; an error of 1e-2 is the rounding of bfloat16, and 1e-3 that of float16",
    try_="compare with given.attention_by_hand on one small shape",
)
alike(
    causal(FORMULA),
    name=MASKS,
    says="With causal, a position sees itself and what came before.",
    why="position i must see the keys 0 ... i, itself included, and no later one",
    try_="-inf above the diagonal, before softmax, in a block by the positions in the whole; or is_causal=True",
)
RIGHT = "multiples of 256 are right"
alike(
    SHAPES | causal(MASKED),
    apart=FAILED,
    name="takes_any_shape",
    says="Any length works, also one that is no multiple of a block; there may be more or fewer keys than positions.",
    why={
        f"keys, {ODD}": (
            f"{RIGHT}; k and v have their own length, which may be no multiple of the block either",
            "take the number of keys from k.shape[-2], and let the last block of keys be shorter",
        ),
        "keys": (
            f"{RIGHT}; k and v have their own length, and here it is not that of q: all their rows count",
            "take the number of keys from k.shape[-2]",
        ),
        "": (
            f"{RIGHT}: the last block is left out, or what fills it up takes a share of softmax",
            "let the last block be shorter, or give padded keys the score -inf",
        ),
    },
    try_="try lengths 1, 5 and 70 with 20 keys",
)
alike(
    LAYOUTS | causal(LAYOUTS),
    apart=FAILED,
    name="takes_any_layout_and_dtype",
    says="Inputs may be bfloat16, or views that are not contiguous; the result has their dtype and the shape of q.",
    why={
        "bfloat16": (
            "more than the rounding of bfloat16: carry maximum and sums in float32, and round once, at the end",
            "keep dtype = q.dtype; q.float(), k.float(), v.float() at the start, .to(dtype) at the end",
        ),
        "": (
            "the numbers were taken in the order of memory, and not of the tensor's dimensions",
            "reshape instead of view, and leave strides to torch",
        ),
    },
    try_="compare with given.attention_by_hand on such inputs",
)
alike(
    LOGITS | causal(LOGITS),
    within=5e-3,
    apart=FAILED,
    name="survives_large_logits",
    says="Scores of some thousands, or all far below zero, give numbers and not NaN.",
    why={
        "causal": (
            "without causal they are right: hidden scores are -inf, as any other number may be the largest",
            "fill hidden scores with -inf before the maximum is taken",
        ),
        "below": (
            "large scores are right; a row whose scores are all below zero has a maximum below zero as well",
            "let a running maximum start at -inf, not at 0",
        ),
        "": (
            "softmax is the same for scores moved by a constant, but exp is not: exp(89) is infinite in float32",
            "subtract each row's own maximum before exp, as torch.softmax does",
        ),
    },
    try_="compare with torch.softmax on one row of such scores",
)
attention.same_gradients(
    GRADIENTS,
    within=2e-4,
    apart={**FAILED, ODD: "takes_any_shape", VIEW: "takes_any_layout_and_dtype"},
    name="gradients_match",
    says="The gradients with respect to q, k and v are those of the formula.",
    why={
        ODD: (
            "for multiples of 64 they are right: backward leaves the last block out, or fills it up with numbers",
            "let the last block of backward be shorter, as in forward",
        ),
        VIEW: (
            "for contiguous inputs they are right: backward reads memory in a different order from the dimensions",
            "reshape instead of view in backward as well",
        ),
        "causal": (
            "without causal they are right: backward forgets the mask",
            "hide the same scores when backward computes them again",
        ),
        "gradient of v": (
            "the gradient of v is weights^T times that of the result, unless v is cut off from autograd",
            "look at what becomes of v: .detach(), .data and no_grad() cut it off",
        ),
        "gradient of k": (
            "that of q is right; the gradient of k is d_scores^T q, divided by sqrt(head_dim) as well",
            "look at what becomes of k: .detach(), .data and no_grad() cut it off",
        ),
        "": (
            "weights and their gradient meet in softmax's: d_scores = weights * (d_weights - row sum)",
            "look for .detach(), .data and no_grad(), or at a backward of your own",
        ),
    },
    try_="torch.autograd.gradcheck in float64 tells which input is wrong",
)
attention.leaves_inputs_alone(
    {},
    {"causal": True},
    name="leaves_inputs_alone",
    says="q, k and v are not changed, forward or backward, and float32 is not multiplied in fewer bits.",
    needs=["matches_by_hand"],
    try_="q = q * scale makes a new tensor, q *= scale does not",
)
