"""train_mixed: losses as in float32, rounded as autocast rounds, clipped after they are unscaled; steps that count."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from autograder.checks import numerics, precision, speedup
from autograder.checks.outputs import same_calls
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
    Passed,
    Rig,
    Student,
    Timed,
    Tolerance,
    Verdict,
    Window,
    optional,
)
from autograder.labs.pairs.part05_precision.part import WRONG, part

FOLLOWS = Tolerance(losses=1.6e-3, weights=2.6e-4)
LOSSES = {"losses": ("float64", 1)}
KIND = {"graph": BOOLEAN, "dtype": TEXT}
CLIP = f"scaler.unscale_(optimizer), then clip_grad_norm_(model.parameters(), 1.0), then scaler.step; {WRONG}"


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
    """train_mixed follows the losses and weights of a float32 training, clipped to a norm of 1, in both dtypes."""
    for run in (steep, gentle):
        why, try_ = _apart(run, clipped=run is steep)
        verdict = numerics.same_trajectory(run, FOLLOWS, why=why, try_=try_)
        if not isinstance(verdict, Passed):
            return verdict
        if run.student.values["graph"]:
            why = "losses have a graph: each keeps all that its batch computed"
            return Failed("losses require a gradient", why, "losses.append(loss.detach())")
        if (dtype := run.student.values["dtype"]) != "float32":
            why = "losses are one float32 tensor, in either dtype of autocast"
            return Failed(f"losses are {dtype or 'no tensor'}", why, "torch.stack(losses)")
    return verdict


def _apart(run: Pair, *, clipped: bool) -> tuple[str, str]:
    ratio = numerics.update(run).ratio
    if clipped and ratio < 0.1:
        return "the weights hardly move: gradients were clipped while they were still scaled", CLIP
    if clipped and ratio > 1.5:
        return f"the weights move {ratio:.1f} times as far: gradients were not clipped", CLIP
    return precision.why_apart(run, FOLLOWS), f"compare your loop step by step; {WRONG}"


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
    """Each loss is rounded as autocast rounds it in the dtype that was asked for, float16 or bfloat16."""
    right = rounding.baseline.arrays
    try_ = f"torch.autocast(device.type, dtype) around the forward pass and the loss; {WRONG}"
    for dtype in HALVES:
        halves = {dtype: right[dtype]}
        verdict = precision.rounded_as(
            rounding.student.arrays[dtype], right["plain"], halves, try_=try_
        )
        if not isinstance(verdict, Passed):
            return verdict
    return verdict


GROWING = 4  # batches, of which every second lets the scale grow
HOOK = f"optimizer.register_step_post_hook counts real steps; {WRONG}"

half = HalfPrecision(part, train, WRONG, takes="train_mixed")
half.uses_the_scaler_in_order()


@part.probe(
    pair=True,
    values={"before": NUMBER, **dict.fromkeys(("after", "steps", "grown"), optional(NUMBER))},
    arrays=TRAINED,
    takes={"train_mixed"},
)
def overflow(student: Student, rig: Rig) -> Answer:
    """One of six batches overflows; the baseline runs without it."""
    window = rig.window([16] * 6, scale=1024.0, poison=rig.integer(1, 4))
    start = window.weights()
    steps = train(student, window, "float16")["steps"]
    growing = rig.window([16] * GROWING, scale=16.0)
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
    verdict = precision.overflow_skipped(overflow, None, WRONG)
    steps, expected = (side.values["steps"] for side in (overflow.student, overflow.baseline))
    if isinstance(verdict, Passed) and steps != expected:
        measured = f"steps is {numerics.shown(steps)}; {expected:g} of 6 batches moved the weights"
        why = "one batch overflowed, and the scaler skipped its step"
        return Failed(measured, why, HOOK)
    grown = overflow.student.values["grown"]
    if isinstance(verdict, Passed) and grown != GROWING:
        measured = (
            f"steps is {numerics.shown(grown)}; {GROWING} of {GROWING} batches moved the weights"
        )
        return Failed(measured, "the scale also changes when it grows: no step was skipped", HOOK)
    return verdict


# --- what only a GPU shows --------------------------------------------------------------------------------------------

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
    try_ = f"look at rounds_as_half; {WRONG}"
    why = "the timed calls return different losses from the float32 training"
    same = same_calls(wide, NEAR_LOSSES, why=why, try_=try_)
    why = "bound by arithmetic: products run in float32; or the host waits in each step"
    return speedup.at_least(wide, bar, why=why, try_=try_, same=same)
