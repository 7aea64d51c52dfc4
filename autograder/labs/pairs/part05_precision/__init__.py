"""Part 5: fewer bits. A training in 16 bits, what is kept for its backward pass, and a product in 8 bits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from autograder.checks import numerics, precision, speedup
from autograder.checks.hints import hint_for
from autograder.checks.outputs import same_calls
from autograder.claims.exercise import Exercise
from autograder.claims.families import Sizes
from autograder.claims.precision import HALVES, TRAINED, HalfPrecision
from autograder.lab import (
    BOOLEAN,
    NUMBER,
    TEXT,
    Answer,
    Bar,
    Close,
    Failed,
    Pair,
    Part,
    Passed,
    Rig,
    Student,
    Timed,
    Tolerance,
    Verdict,
    Window,
    optional,
)
from autograder.labs.pairs.part05_precision import slips

part = Part("part05_precision", writes=["train_mixed"])
WRONG = 'see "What usually goes wrong" in the part 5 handout'

# --- train_mixed ---

FOLLOWS = Tolerance(losses=1.6e-3, weights=2.6e-4)
LOSSES = {"losses": ("float64", 1)}
KIND = {"graph": BOOLEAN, "dtype": TEXT}
CLIP = "scaler.unscale_(optimizer), then clip_grad_norm_(model.parameters(), 1.0), then scaler.step"


def train(student: Student, window: Window, dtype: str = "bfloat16") -> dict[str, Any]:
    from autograder.labs.pairs.part05_precision import rig

    return rig.train(student, window, dtype)


def trained(student: Student, rig: Rig, dtype: str, factor: float, scale: float) -> Answer:
    """Train by a loss that is *factor* times as large, as its gradients are; the losses are divided by it again."""
    window = rig.window(scale=scale)
    criterion, start = window.criterion, window.weights()
    window.criterion = lambda *both: factor * criterion(*both)  # type: ignore[assignment]
    losses = train(student, window, dtype)["losses"]
    return {
        "start": start,
        "losses": rig.series(losses, "losses") / factor,
        "weights": window.weights(),
        "graph": bool(getattr(losses, "requires_grad", False)),
        "dtype": str(getattr(losses, "dtype", "")).removeprefix("torch."),
    }


@part.probe(pair=True, values=KIND, arrays=TRAINED | LOSSES, takes={"train_mixed"})
def steep(student: Student, rig: Rig) -> Answer:
    """Every gradient is clipped."""
    return trained(student, rig, "float16", 4.0, 2.0**8)


@part.probe(pair=True, values=KIND, arrays=TRAINED | LOSSES, takes={"train_mixed"})
def gentle(student: Student, rig: Rig) -> Answer:
    """None is, and the scale is 1: what is left of earlier gradients shows."""
    return trained(student, rig, "bfloat16", 0.5, 1.0)


@part.check(basis="outputs")
def follows_fp32(steep: Pair, gentle: Pair) -> Verdict:
    """In float16 and bfloat16, train_mixed follows a float32 training that also clips gradients to a norm of 1."""
    for run in (steep, gentle):
        why, try_ = _apart(run, clipped=run is steep)
        verdict = numerics.same_trajectory(run, FOLLOWS, why=why, try_=try_)
        if not isinstance(verdict, Passed):
            return verdict
        if run.student.values["graph"]:
            why = "your code does not detach the losses: each keeps all that its batch computed"
            return Failed("losses require a gradient", why, "losses.append(loss.detach())")
        if (dtype := run.student.values["dtype"]) != "float32":
            why = "losses must be one float32 tensor, in either dtype of autocast"
            return Failed(
                f"losses are {dtype or 'no tensor'}; float32 is right",
                why,
                "torch.stack(losses).float()",
            )
    return verdict


def _apart(run: Pair, *, clipped: bool) -> tuple[str, str]:
    ratio = numerics.update(run).ratio
    if clipped and 0 < ratio < 0.1:
        return "the update is almost 0: gradients were clipped while they were still scaled", CLIP
    if clipped and ratio > 1.5:
        return f"the update is {ratio:.1f} times the right one: gradients were not clipped", CLIP
    why = precision.why_apart(run, FOLLOWS)
    return why, hint_for(why, slips.APART) or "compare your loop step by step"


@part.probe(
    pair=True,
    arrays=dict.fromkeys(("plain", *HALVES), ("float64", 1)),
    takes={"train_mixed"},
)
def rounding(student: Student, rig: Rig) -> Answer:
    """A rate of 0: each loss shows how its own forward pass was rounded."""

    def losses(dtype: str) -> Any:
        return rig.series(train(student, rig.window([8] * 40, lr=0.0), dtype)["losses"], "losses")

    if rig.side == "student":
        return {"plain": np.zeros(0), **{dtype: losses(dtype) for dtype in HALVES}}
    halves = {dtype: rig.autocast(dtype, partial(losses, dtype)) for dtype in HALVES}
    return {"plain": losses("float32"), **halves}


@part.check(basis="outputs")
def rounds_as_half(rounding: Pair) -> Verdict:
    """With dtype float16 or bfloat16, losses are much nearer to those of autocast in this dtype than to float32's."""
    right = rounding.baseline.arrays
    try_ = "torch.autocast(device.type, dtype) around the forward pass and the loss"
    for dtype in HALVES:
        halves = {dtype: right[dtype]}
        losses = rounding.student.arrays[dtype]
        verdict = precision.rounded_as(losses, right["plain"], halves, try_=try_)
        if isinstance(verdict, Passed):
            continue
        both = {it: right[it] for it in HALVES}
        either = precision.rounded_as(losses, right["plain"], both, try_=try_)
        if isinstance(either, Failed):
            return replace(verdict, why=either.why) if isinstance(verdict, Failed) else verdict
        (other,) = set(HALVES) - {dtype}
        away, near = (numerics.norm(losses - it) for it in (right[dtype], right[other]))
        measured = f"with dtype={dtype}: losses are {away:.1e} from those of autocast in "
        measured += f"{dtype}, and {near:.1e} from those of autocast in {other}"
        why = f"the losses are rounded as {other}, and {dtype} was asked for"
        return Failed(measured, why, "hand the dtype that train_mixed gets to torch.autocast")
    return verdict


STEPS = {
    "steps": "a batch whose step the scaler skipped must not count",
    "grown": "no step was skipped: the scale also changes when it grows",
}
HOOK = "optimizer.register_step_post_hook counts real steps"

half = HalfPrecision(part, train, WRONG, takes="train_mixed")
half.uses_the_scaler_in_order(
    "Once for each batch and in this order: scale, backward, unscale_, step, update."
)


@part.probe(
    pair=True,
    values={"before": NUMBER, **dict.fromkeys(("after", "steps", "grown"), optional(NUMBER))},
    arrays=TRAINED,
    takes={"train_mixed"},
)
def overflow(student: Student, rig: Rig) -> Answer:
    """One of six batches overflows; the baseline runs without it. Then every second of four lets the scale grow."""
    window = rig.window([16] * 6, scale=1024.0, poison=rig.integer(1, 4))
    start = window.weights()
    steps = train(student, window, "float16")["steps"]
    growing = rig.window([16] * 4, scale=16.0)
    growing.scaler.set_growth_interval(2)
    return {
        "grown": rig.number(train(student, growing, "float16")["steps"]),
        "before": 1024.0,
        "after": rig.number(window.scaler.get_scale()),
        "steps": rig.number(steps),
        "start": start,
        "weights": window.weights(),
    }


@part.check(basis="outputs")
def counts_real_steps(overflow: Pair) -> Verdict:
    """A batch whose gradients are not finite moves nothing, halves the scale, and is no step."""
    verdict = precision.overflow_skipped(overflow, None)
    for name, why in STEPS.items() if isinstance(verdict, Passed) else ():
        steps, expected = (side.values[name] for side in (overflow.student, overflow.baseline))
        if steps != expected:
            measured = f"steps is {numerics.shown(steps)}, and {expected:g} is right"
            return Failed(measured, why, HOOK)
    return verdict


# --- what only a GPU shows ---

WIDE, ROWS = 4096, 256
NEAR_LOSSES = Close(rtol=1e-3, atol=1e-3)  # bfloat16 is 2e-4 apart, weights that stand still 1e-1


def draw_rows(random: np.random.Generator) -> Mapping[str, Any]:
    x = random.normal(size=(ROWS, WIDE)).astype(np.float32)
    return {"x": x, "labels": random.integers(0, WIDE, ROWS)}


@part.timed("call", inputs=draw_rows, within=NEAR_LOSSES)
def wide(student: Student, inputs: Mapping[str, Any]) -> Any:
    from autograder.labs.pairs.part05_precision import rig

    return rig.train_wide(student, inputs["x"], inputs["labels"])


@part.check(basis="outputs", needs=[follows_fp32])
def mixed_is_faster(wide: Timed, bar: Bar) -> Verdict:
    """A wide MLP trains at least {bar} as fast as in float32."""
    try_ = "fix rounds_as_half first if it fails; else fetch no loss in the loop"
    why = "the timed calls return different losses from the float32 training"
    same = same_calls(wide, NEAR_LOSSES, why=why, try_=try_)
    why = "bound by arithmetic: products run in float32; or the host waits in each step"
    return speedup.at_least(wide, bar, why=why, try_=try_, same=same)


# --- kept_bytes ---

KINDS = (
    "linear and ReLU",
    "ReLU in place",
    "norm and GELU",
    "batch norm",
    "dropout",
    "one layer twice",
    "a frozen layer",
    "views",
    "halves of rows",
)


def asked(written: Any, given: Mapping[str, Any]) -> Any:
    from autograder.labs.pairs.part05_precision import rig

    return written(*rig.made(**given))


def counted(slip: str = "", **given: Any) -> int:
    from autograder.labs.pairs.part05_precision import rig

    return rig.counted(**given, slip=slip)


counts = Exercise("kept_bytes", part, call=asked)


@counts.inputs
def draw_net(
    random: np.random.Generator,
    kind: Any = "linear and ReLU",
    width: Any = range(32, 80, 2),
    rows: Any = (5, 31),
    half: Any = "",
) -> dict[str, Any]:
    return {"kind": kind, "width": width, "rows": rows, "half": half}


counts.same(
    {
        f"bytes kept by {kind}{' under autocast' * bool(half)}": {"kind": kind, "half": half}
        for half in ("", "bfloat16")
        for kind in KINDS
    },
    oracle=counted,
    within=0.0,
    name="counts_kept_bytes",
    says="kept_bytes returns exactly the bytes that are kept, with autocast and without.",
    slips={why: partial(counted, slip=slip) for slip, (why, _) in slips.SLIPS.items()},
    why=slips.KEPT,
    hints=dict(slips.SLIPS.values()),
    try_=WRONG,
)


# --- fp8_linear ---

HOLES = {
    "half_precision_and_back": "float16 rounds a hundred times less than FP8 does",
}


def in_a_network(written: Any, given: Mapping[str, Any]) -> Any:
    """Call it; on request with an x that nobody else keeps."""
    x = 2 * given["x"] if given["inside"] else given["x"]
    return written(x, given["weight"], given["bias"])


fp8 = Exercise("fp8_linear", part, call=in_a_network, holes=HOLES)


@fp8.inputs
def draw_layer(
    random: np.random.Generator,
    rows: Any = (0, 40),
    inner: Any = (4, 8),  # of 16 numbers: an error of fewer is left to chance
    outer: Any = (4, 8),
    shape: Any = "",
    inside: Any = False,
) -> dict[str, Any]:
    inner, outer = 16 * inner, 16 * outer
    shapes = {"three dimensions": (3, rows, inner), "one vector": (inner,)}
    x = random.normal(size=shapes.get(shape, (rows, inner)))
    if shape == "a huge row":
        x[random.integers(rows)] *= 3e3
    bias = random.normal(size=outer) if shape == "with a bias" else None
    weight = random.normal(size=(outer, inner)) / inner**0.5
    return {"x": x, "weight": weight, "bias": bias, "inside": inside}


FORMS: dict[str, Sizes] = {
    "three dimensions": {"shape": "three dimensions"},
    "a transposed x of three dimensions": {"shape": "three dimensions", "view": "transposed"},
    "one vector": {"shape": "one vector"},
    "with a bias": {"shape": "with a bias"},
    "a row of x times 3000": {"shape": "a huge row", "rows": 40},
}
CHANCE = "all numbers of a result are equal, and the error of one number is left to chance"
HUGE = "errors of one number are left to chance; a huge row of x has a case of its own"
SKIPPED = {
    "equal rows": CHANCE,
    "one row times 10000": HUGE,
    "a constant row": "with a scale of its own it is not rounded at all",
}
fp8.error_between(
    1e-2,
    6e-2,
    FORMS,
    dtypes=["bfloat16"],
    skip_families=SKIPPED,
    name="fp8_is_fp8",
    says="fp8_linear has the error of FP8, 1e-2 to 6e-2, for large and small numbers; zeros stay 0.",
    why=slips.RESULTS,
    exact=(
        "that is more exact than FP8: the product was computed in 16 or 32 bits",
        "hand both operands to torch._scaled_mm in float8_e4m3fn",
    ),
    coarse=(
        "an operand is float8_e5m2, which has one bit less for digits than float8_e4m3fn",
        "convert both operands to torch.float8_e4m3fn",
    ),
    hints=slips.RESULT_HINTS,
    try_=WRONG,
)
fp8.error_between(
    0.0,
    6e-2,
    FORMS,
    of="gradients",
    dtypes=["bfloat16"],
    skip_families={
        **SKIPPED,
        "rows is 0": "torch._scaled_mm writes nothing where no rows are added up, here to a gradient",
    },
    name="fp8_gradients",
    needs=[],
    says="x, weight and bias get gradients with an error of at most 6e-2.",
    why=slips.GRADIENTS,
    hints=slips.GRADIENT_HINTS,
    try_=WRONG,
)
fp8.reaches(
    ("aten::_scaled_mm", "aten::_scaled_mm_v2"),
    {"rows": 32, "inner": 4, "outer": 3, "view": "transposed"},
    dtype="float8_e4m3fn",
    layout=("row-major", "column-major"),
    without=("aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "aten::mv", "aten::dot"),
    name="fp8_reaches_the_product",
    says="The product is computed by torch's scaled product of two float8_e4m3fn matrices, the second column-major.",
    why=slips.PRODUCT,
    try_=WRONG,
)
fp8.keeps_less(
    0.4,  # the reference 28 %, copies in bfloat16 50 %
    {"rows": 2048, "inner": 16, "outer": 16, "inside": True},
    name="fp8_holds_less",
    says="For the backward pass, fp8_linear keeps at most 40 % of what a float32 layer keeps; "
    "the weight does not count.",
    why="operands are kept in 16 or 32 bits",
    try_="ctx.save_for_backward(x_fp8, scale_x, weight)",
)
