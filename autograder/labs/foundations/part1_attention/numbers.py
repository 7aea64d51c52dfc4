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
ODDS: Cases = {f"an odd length, {ODD}, draw {n}": ANY_ODD for n in (1, 2, 3)}
ODDS[f"one position, {ODD}"] = {"length": 1}
SHAPES: Cases = {
    "128 positions, 256 keys": {**SMALL, "length": 128, "keys": 256},
    "256 positions, 128 keys": {**SMALL, "length": 256, "keys": 128},
    f"257 positions, {ODD}": {**SMALL, "length": 257},
    f"9 positions, 200 keys, {ODD}": {**SMALL, "length": 9, "keys": 200},
    f"70 positions, 20 keys, {ODD}": {**SMALL, "length": 70, "keys": 20},
    **ODDS,
}
MASKED: Cases = {
    **ODDS,
    f"131 positions, {ODD}": {**SMALL, "length": 131},
    f"300 positions, {ODD}": {**SMALL, "length": 300},
}
SEVERAL: Sizes = {"batch": (2, 3), "heads": (2, 4)}  # only where no dimension is 1 a layout shows
LAYOUTS: Cases = {
    VIEW: {**SEVERAL, "layout": VIEW},
    "views of every second number": {**SEVERAL, "view": "sliced"},
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
            "the scores are divided by head_dim, and not by its root",
            "q @ k.mT / q.shape[-1] ** 0.5",
        ): lambda q, k, v: (q @ k.mT / q.shape[-1]).softmax(-1) @ v,
        (
            "softmax runs over the positions, and must run over the keys",
            "softmax(dim=-1) of scores that have a row for each position and a column for each key",
        ): lambda q, k, v: (q @ k.mT / q.shape[-1] ** 0.5).softmax(-2) @ v,
        (
            "all numbers are 0: usually your code never writes the result",
            "write each block into the result",
        ): lambda q, **_: 0 * q,
        (
            "every number is NaN, though all inputs are finite",
            "find the first step that makes NaN, up to the return, by isnan().any()",
        ): lambda q, **_: q * float("nan"),
    },
    name="matches_by_hand",
    says="attention returns what the formula gives, for lengths that are multiples of 256.",
    why={
        **dict.fromkeys(
            SHAPED,
            (
                "random q and k are right: usually your code takes a shortcut for such inputs",
                "the whole formula, whatever q and k are",
            ),
        ),
        f"{2 * EVEN} positions": (
            f"{EVEN} positions are right: usually keys are left out, or each block of keys has a softmax of its own",
            "one softmax over all keys of a row, whatever the length",
        ),
        "": "the result must be softmax(q k^T / sqrt(head_dim), dim=-1) v in float32",
    },
    try_="compare with given.attention_by_hand",
)
HIDE = "-inf before softmax where key j > position i, both counted in the whole input; or is_causal=True"
alike(
    causal(FORMULA),
    slips={
        ("your result is the one without causal: nothing is masked", HIDE): (
            lambda q, k, v, **_: (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v
        ),
    },
    name=MASKS,
    says="With causal, a position sees itself and what came before.",
    why="position i must see the keys 0 ... i, itself included, and no later one",
    try_=HIDE,
)
RIGHT = "multiples of 256 are right"
alike(
    SHAPES | causal(MASKED),
    apart=FAILED,
    name="takes_any_shape",
    says="Any length works, also one that is no multiple of a block; there may be more or fewer keys than positions.",
    why={
        ODD: (
            f"{RIGHT}: usually the last block goes wrong where it is not full",
            "let the last block of rows and of keys be shorter, or give padded keys the score -inf",
        ),
        "keys": (
            f"{RIGHT}; here k and v have more or fewer rows than q, and all their rows must count",
            "take the number of keys from k.shape[-2]",
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
            "the error is above one rounding to bfloat16: usually sums are carried in bfloat16",
            "q.float(), k.float() and v.float() at the start, .to(q.dtype) at the end",
        ),
        "": "your code takes numbers in the order of memory, and not of the tensor's dimensions",
    },
    try_="begin with q.contiguous(), k.contiguous() and v.contiguous()",
)
alike(
    LOGITS | causal(LOGITS),
    within=5e-3,
    apart=FAILED,
    name="survives_large_logits",
    says="Scores of some thousands, or all far below zero, give numbers and not NaN.",
    why={
        "causal": (
            (
                "without causal they are right: usually hidden scores are not "
                "-inf, but a number that can be the largest"
            ),
            "fill hidden scores with -inf before the maximum is taken",
        ),
        "below": (
            (
                "large scores are right: usually a running maximum starts at 0, "
                "but here each has a maximum below zero"
            ),
            "let a running maximum start at -inf, not at 0",
        ),
        "": (
            "usually no maximum is subtracted before exp: exp(89) is infinite in float32",
            "subtract each row's own maximum before exp, as torch.softmax does",
        ),
    },
    try_="compare with torch.softmax on one row of such scores",
)
CUT = "take away .detach(), .data and no_grad()"
attention.same_gradients(
    GRADIENTS,
    within=2e-4,
    apart={**FAILED, ODD: "takes_any_shape", VIEW: "takes_any_layout_and_dtype"},
    name="gradients_match",
    says="The gradients with respect to q, k and v are those of the formula.",
    why={
        "is None": (
            "no gradient reaches this input: usually it is cut off from autograd",
            f"{CUT}; a backward of your own must return a gradient for each of q, k and v",
        ),
        ODD: (
            "for multiples of 64 they are right: usually the last block of backward goes wrong",
            "let the last block of backward be shorter, as in forward",
        ),
        VIEW: (
            (
                "for contiguous inputs they are right: backward reads memory "
                "in a different order from the dimensions"
            ),
            "reshape instead of view in backward as well",
        ),
        "causal": (
            "without causal they are right: usually backward forgets the mask",
            "hide the same scores when backward computes them again",
        ),
        "gradient of v": (
            "those of q and k are right: that of v must be weights^T @ d_result",
            "compute it in backward from the weights after softmax, and detach nothing on the way",
        ),
        "gradient of k": (
            "that of q is right: that of k must be d_scores^T @ q / sqrt(head_dim)",
            "in a backward of your own, divide both gradients by sqrt(head_dim)",
        ),
        "": (
            "usually a backward of your own forgets a part of softmax's gradient",
            "d_scores must be weights * (d_weights - (weights * d_weights).sum(-1, keepdim=True))",
        ),
    },
    try_="compare with the gradients of given.attention_by_hand",
)
attention.leaves_inputs_alone(
    {},
    {"causal": True},
    name="leaves_inputs_alone",
    says="q, k and v are not changed, forward or backward; products of float32 inputs are not computed in fewer bits.",
    needs=["matches_by_hand"],
    try_="q = q * scale makes a new tensor, q *= scale does not",
)
