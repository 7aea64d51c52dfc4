"""Judges mixed precision: how losses are rounded, dtypes of operators, and the calls on a GradScaler."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

from autograder.checks.numerics import (
    ROUNDED,
    Array,
    close,
    distance,
    misshapen,
    norm,
    not_finite,
    rounded,
    shares,
    shown,
    sixteen_bits,
    too_few,
    update,
)
from autograder.model import (
    Failed,
    Pair,
    Passed,
    Timed,
    Verdict,
)
from autograder.probe import Tolerance
from autograder.traces.words import many

HALF = {"float16", "bfloat16"}
SINGLE = {"float32"}
NARROW = "the weights themselves are 16 bits wide, so small updates are rounded away"
RULES = (
    (
        ("backward",),
        {"outside autocast"},
        "backward passes ran inside autocast: end the with block before backward()",
    ),
    (("parameters",), SINGLE, NARROW),
    (
        ("convolution", "matrix product"),
        HALF,
        "{} did not run in half precision: autocast was off",
    ),
    (
        ("softmax", "loss"),
        SINGLE,
        "{} ran in half precision: it was called outside autocast, on 16-bit values",
    ),
)
ON_A_CPU = "on a CPU, autocast leaves softmax in 16 bits"
FLOAT32 = "leave the model in float32, without .half() and .bfloat16()"
SHORT = 0.5  # of the expected update: steep gradients, cut to a norm of 10, leave a quarter
CLIPPED_ALL_THE_SAME = (
    "the weights move far less: usually gradients are clipped although max_grad_norm is None",
    "clip only if max_grad_norm is not None, and give max_grad_norm no default of your own",
)
# Losses nearer to trusted 16-bit ones than to FP32's, by this ratio of distances. Measured in 50 seeds: right work,
# with foreach or fused optimizers, 0.19; weights and images rounded to bfloat16, noise on the losses: 0.67.
NEARER = 0.35
OTHER = 20.0  # times the rounding of 16 bits, and more than a hundredth of the losses: bfloat16 rounds by 0.4 %
STEP = ("scale", "backward", "unscale_", "step", "update")


def dtypes_where_they_help(
    dtypes: Mapping[str, Mapping[str, int]],
    *,
    on_gpu: bool,
    try_: str,
    products: Collection[str] = ("convolution", "matrix product"),
) -> Verdict:
    """Pass when operators ran in the precision that autocast gives them; on a CPU it leaves softmax in 16 bits."""
    told = sorted(dtypes if on_gpu else set(dtypes) - {"softmax"})
    measured = (
        "; ".join(f"{kind}: {', '.join(sorted(dtypes[kind]))}" for kind in told)
        or "nothing computed"
    )
    if not set(products) <= set(dtypes):
        missing = " and no ".join(kind for kind in products if kind not in dtypes)
        why = "the model was never called as model(images)"
        return Failed(
            f"the grader saw no {missing}",
            why,
            "call outputs = model(images) for each batch",
        )
    within = f"forward pass and loss belong inside torch.autocast; {try_}"
    for kinds, wanted, why in RULES:
        for kind in kinds:
            judged = kind != "softmax" or on_gpu
            if judged and not set(dtypes.get(kind, wanted)) <= wanted:
                narrow = why == NARROW
                measured = f"{kind}: {', '.join(sorted(dtypes[kind]))}"
                if kind == "backward":
                    return Failed(measured, why, f"call backward() after the with block; {try_}")
                return Failed(
                    measured,
                    why.format(kind),
                    f"{FLOAT32}; {try_}" if narrow else within,
                )
    own_choice = not on_gpu and HALF & set(dtypes.get("softmax", ()))
    return Passed(f"{measured}; {ON_A_CPU}" if own_choice else measured)


CUT = "the losses are rounded"
CUT_BITS = 0.05  # relative: zeros and whole numbers have 16 bits as well
LATER = "the first loss is near, later ones are not"
UNEVEN = f"{LATER}: other steps were taken than the baseline's"
PILED = 2.1  # times as far: steps that are taken twice go 2, and sums of all gradients since the first 2.2 to 4.5
APART = {
    NARROW: FLOAT32,
    "each batch has one loss": "losses.append(loss.detach()) once in each iteration",
    "the optimizer stepped": "scaler.step(optimizer), which skips such a step",
    CUT: ROUNDED,
    "the weights are right": "take model and criterion under autocast, and append loss.detach() as it is",
    "the first loss differs": "model.train(), then the criterion on the whole batch, under autocast",
    "gradients pile up": "optimizer.zero_grad() in each iteration, before backward()",
    "the first loss is near": "zero_grad, forward, loss, backward, step: each once for each batch",
}
"""What `why_apart` says -> what to try."""


def why_apart(amp: Pair | Timed, within: Tolerance) -> str:
    """Say why a training with AMP does not follow the baseline's."""
    losses = amp.student.arrays["losses"]
    expected = amp.baseline.arrays["losses"]
    weights = amp.student.arrays["weights"]
    if misshapen(losses, expected):
        return "each batch has one loss, a finite number"
    if not_finite(weights):
        return "the optimizer stepped with gradients that were infinite or NaN"
    if sixteen_bits(weights):
        return NARROW
    if distance(weights, amp.baseline.arrays["weights"]) <= within.weights:
        off = distance(losses, expected)
        cause = "16-bit numbers" if off < CUT_BITS and sixteen_bits(losses) else "wrong"
        cause = "wrong: usually they are scaled" if off > 1 else cause
        wrong = f"but the returned losses are {cause}"
        return f"the weights are right, {CUT if rounded(losses, expected) else wrong}"
    if abs(losses[0] - expected[0]) > within.losses:
        return (
            "the first loss differs already: it must be the criterion's on the whole first batch, "
            "with the model in train mode"
        )
    return _later(update(amp).ratio) if isinstance(amp, Pair) else UNEVEN


def _later(ratio: float) -> str:
    """Say why later losses are off where the weights move *ratio* times as far as they should."""
    far = f"{LATER}: the update is {ratio:.2g} times the right one"
    if ratio > PILED:
        return f"{far}, usually because gradients pile up"
    if ratio > 1.5:
        return f"{far}, usually because each step is taken twice"
    return f"{far}, usually because steps are left out" if ratio < 0.7 else UNEVEN


def rounded_as(losses: Array, plain: Array, halves: Mapping[str, Array], *, try_: str) -> Verdict:
    """Pass losses that are clearly nearer to those of a trusted run in half precision than to FP32's."""
    if problem := misshapen(losses, plain):
        why = "each batch has one loss, a finite number"
        return Failed(problem, *(too_few(losses, plain) or (why, APART["each batch has one loss"])))
    away = norm(losses - plain)
    apart = {dtype: norm(losses - half) for dtype, half in halves.items()}
    nearest = min(apart, key=apart.__getitem__)
    measured = (
        f"losses are {away:.1e} from those of FP32, and "
        f"{apart[nearest]:.1e} from those of autocast "
        f"in {nearest}, the dtype of this check"
    )
    evidence = shares(rounding=apart[nearest] / (NEARER * away)) if away else {}
    if math.isfinite(away) and apart[nearest] <= NEARER * away:
        return Passed(measured, evidence)
    if away < apart[nearest] / 20:
        measured = (
            f"the losses are FP32's; autocast in {nearest} moves losses by {apart[nearest]:.1e}"
        )
        why = "that is FP32: autocast was not on"
    elif min(away, apart[nearest]) > max(OTHER * norm(plain - halves[nearest]), 0.01 * norm(plain)):
        why = "the losses are far from both, so they are wrong in any precision"
        try_ = "for each batch in turn, append the criterion's loss on the whole batch"
    elif rounded(losses, plain):
        why, try_ = f"{CUT}: the rounding of 16 bits cannot be seen in them", ROUNDED
    else:
        why = "the losses are neither those of FP32 nor those of autocast: usually "
        why += f"the dtype is another than {nearest}, or " * (len(halves) == 1)
        why += "autocast is not on for the whole model and the loss"
    return Failed(measured, why, try_, evidence)


UNSCALED = "backward of a loss not scaled by the given scaler"
NEVER = (
    "the given scaler is never used",
    "call scale, step and update of the argument scaler",
)


def scaler_in_order(events: Sequence[str], batches: int) -> Verdict:
    """Pass one whole sequence of calls per batch: scale, backward, perhaps unscale_, step, update."""
    at, steps = _good_steps(events)
    if at == len(events) and steps == batches:
        return Passed(f"{steps} steps: scale, backward, step, update")
    if not set(events) & {"scale", "unscale_", "step", "update"}:
        return Failed(f"0 of {batches} steps use the given scaler", *NEVER)
    rest = events[at : at + 6]
    wrong = rest[: next((n for n, it in enumerate(rest) if it in rest[:n]), 4)]
    measured = f"{many(steps, 'step')} came for {many(batches, 'batch', 'batches')}"
    if wrong:
        measured = f"step {steps + 1} (of {batches} batches) is {', '.join(wrong)}"
    why, try_ = _disorder(rest)
    if steps and not rest and steps < batches:
        why = "some batches have no step"
        try_ = "train on every batch of the loader: no continue, break or islice"
    elif steps and not rest:
        why, try_ = "some batch has two steps", "one scaler.step(optimizer) for each batch"
    return Failed(measured, why, try_)


def _good_steps(events: Sequence[str]) -> tuple[int, int]:
    at = steps = 0
    while True:
        step = [
            name for name in STEP if name != "unscale_" or "unscale_" in events[at + 2 : at + 3]
        ]
        if list(events[at : at + len(step)]) != step:
            return at, steps
        at, steps = at + len(step), steps + 1


def _disorder(events: Sequence[str]) -> tuple[str, str]:
    if UNSCALED in events:
        why = "backward ran on the loss and not on what scaler.scale(loss) returned"
        return why, "scaler.scale(loss).backward(), scaler.step(optimizer), scaler.update()"
    if "optimizer.step" in events:
        why = "optimizer.step() moves the weights by scaled gradients, infinite ones included"
        after = "" if "update" in events else ", then scaler.update()"
        return why, f"scaler.step(optimizer){after}, in place of optimizer.step()"
    missing = [name for name in STEP if name not in (*events, "unscale_")]
    if missing:
        return f"scaler.{missing[0]} is missing", f"call scaler.{missing[0]} for each batch"
    why = "the order is wrong, or a call comes twice"
    return why, "for each batch once: scale, backward, unscale_ where you clip, step, update"


def overflow_skipped(run: Pair, within: float | None) -> Verdict:
    """Pass when one step was skipped and the scale halved; *within* bounds the update, if it is judged."""
    before = run.baseline.values["before"]
    after = run.student.values["after"]
    weights, moved = run.student.arrays["weights"], update(run)
    scaler = "scaler.step(optimizer), then scaler.update(), with the given scaler"
    taken, right = (side.values.get("steps", 0) for side in (run.student, run.baseline))
    if bad := not_finite(weights):
        why = "the optimizer stepped although a gradient was infinite"
        return Failed(bad, why, scaler)
    apart = f"update differs by {moved.error:.2%} from the run without that batch"
    measured = f"{apart}, scale {before:g} -> {shown(after)}"
    halved = f"scale {before:g} -> {shown(after)}, and {before / 2:g} is right"
    problem = None
    if after is not None and 0 < after <= before / 4:
        why = "the scale was halved several times: the infinite gradients stayed for later steps"
        measured, problem = halved, (why, "optimizer.zero_grad() in each step")
    elif taken < right:
        measured = f"{measured}, {many(taken, 'step')} instead of {right}"
        why = "batches besides the overflowing one have no step"
        problem = (
            why,
            "train on every batch of the loader: one step for each that does not overflow",
        )
    elif not close(after, before / 2, 1e-6):
        why = "the scale was not halved once: scaler.update() did not see the overflow"
        measured, problem = halved, (why, scaler)
    if problem:
        return Failed(measured, *problem)
    if within is None:
        return Passed(measured)
    evidence = shares(update=moved.error / within)
    if moved.error <= within:
        return Passed(measured, evidence)
    why, try_ = "steps other than the overflowing one were changed", scaler
    if sixteen_bits(weights):
        why, try_ = NARROW, FLOAT32
    elif moved.ratio < SHORT:
        why, try_ = CLIPPED_ALL_THE_SAME
    return Failed(measured, why, try_, evidence)
