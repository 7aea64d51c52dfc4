"""How a training leaves the baseline's, why, and what to try."""

from __future__ import annotations

import copy
from collections.abc import Mapping

import numpy as np

from autograder.checks import numerics
from autograder.checks.numerics import Array
from autograder.checks.precision import SHORT
from autograder.lab import Rig, Window
from autograder.model import Pair
from autograder.probe import Tolerance

CLOSER = 8.0  # times as near as to the right loss: else it is near the loss in eval() by chance
HALVES = ("bfloat16", "float16")
NEAR = 1e-5  # relative
STEP = "zero_grad, forward, loss, backward, step"
LISTED = "losses.append(loss.detach()) in each iteration, and return them as they are"
WHY_APART = {
    "more": ("each batch has one loss", "losses.append(loss.detach()) once in each iteration"),
    "nan": ("a step was taken with gradients that were infinite or NaN", STEP),
    "infinite": (
        "no weight moved: a gradient was infinite or NaN, so each step was skipped",
        STEP,
    ),
    "still": ("no weight moved: step() of the optimizer was never called", STEP),
    "made up": (
        "no weight moved: step() was never called; and the first loss is not the criterion's",
        f"{STEP}; {LISTED}",
    ),
    "cleared": (
        (
            "no weight moved in {steps} steps: usually zero_grad() "
            "stands between backward() and step()"
        ),
        STEP,
    ),
    "by hand": (
        "the weights moved, and step() of the optimizer that was passed in was never called",
        "optimizer.step() of the argument, and no update of your own",
    ),
    "short": (
        "the weights move far less: usually gradients are clipped",
        "step with the gradients of backward(): nothing makes them or the loss smaller",
    ),
    "so far": (
        "the weights are right, and each returned loss is the mean of the losses so far",
        LISTED,
    ),
    "scaled": (
        "the weights are right, and each returned loss is {times:.4g} times the right one",
        LISTED,
    ),
    "listed": (
        "the weights are right, but not the returned losses: usually they are taken after the step",
        LISTED,
    ),
    "rounded": ("the weights are right, and the losses are rounded", numerics.ROUNDED),
    "eval": (
        "the first loss is near the model's in eval(): usually model.train() is missing",
        "model.train() before the loop",
    ),
    "uncalled": (
        (
            "the criterion passed in was never called as criterion(outputs, labels): "
            "usually your code takes another loss"
        ),
        "loss = criterion(outputs, labels), with the argument criterion",
    ),
    "autocast": (
        "the first loss has the rounding of 16 bits already: usually autocast is on",
        "no autocast here: forward pass and loss in FP32",
    ),
    "first": (
        (
            "the first loss differs already: it is not criterion(model(images), "
            "labels) of the whole first batch"
        ),
        "loss = criterion(model(images), labels)",
    ),
    "counted": (
        (
            "the first loss is right, later ones are not: step() was "
            "called {steps} times in {batches} batches"
        ),
        "optimizer.step() once for each batch",
    ),
    "later": (
        (
            "the first loss is right, later ones are not: usually "
            "gradients of earlier batches are left"
        ),
        "optimizer.zero_grad() before each backward()",
    ),
}
"""How a training left the baseline's -> why, and what to try; `counts` has the numbers in braces."""
CERTAIN = ("eval", "still", "made up", "uncalled", "cleared", "by hand", "counted")
"""Those that hold in any precision."""


def first_losses(rig: Rig, epoch: Window) -> dict[str, float]:
    """Return the loss of the first batch as usual mistakes have it; the window's model stays as it is."""
    images, labels = (it.to(rig.device) for it in next(iter(epoch.loader)))
    model = copy.deepcopy(epoch.model)

    def loss() -> float:
        return float(epoch.criterion(model(images), labels))

    with rig.no_grad():
        model.eval()
        losses = {"eval": loss()}
        model.train()
        return losses | {dtype: rig.autocast(dtype, loss) for dtype in HALVES}


def has_finite_gradients(epoch: Window) -> bool:
    """Whether all gradients that are left, if any are, are finite."""
    left = [it.grad for it in epoch.model.parameters() if it.grad is not None]
    return all(bool(it.isfinite().all()) for it in left)


def how_apart(pair: Pair, within: Tolerance) -> str:
    """Name how a training left the baseline's: a key of WHY_APART."""
    losses, weights = (
        [side.arrays[name] for side in (pair.student, pair.baseline)]
        for name in ("losses", "weights")
    )
    if len(losses[0]) > len(losses[1]):
        return "more"
    if numerics.not_finite(weights[0]):
        return "nan"
    if numerics.distance(*weights) <= within.weights:
        return _listed(*losses)
    return _stepped(pair, within, numerics.update(pair).ratio)


def _stepped(pair: Pair, within: Tolerance, moved: float) -> str:
    """Name how weights that are wrong *moved*, by what is left of the steps and by the first loss."""
    steps, batches = pair.student.values["steps"], len(pair.baseline.arrays["losses"])
    own, right = (side.arrays["losses"][:1] for side in (pair.student, pair.baseline))
    apart = numerics.furthest(own, right)
    first = apart > within.losses
    if not moved and not pair.student.values["finite"]:
        return "infinite"
    if not moved or (not steps and not first):
        usual = pair.baseline.values.get("first", {})
        made_up = first and own.size and _first(own, apart, usual, within) == "first"
        return "by hand" if moved else "cleared" if steps else "made up" if made_up else "still"
    if not pair.student.values["called"]:
        return "uncalled"
    if moved >= SHORT and first:
        return _first(own, apart, pair.baseline.values["first"], within)
    if moved < SHORT and (first or steps == batches):
        return "short"
    return "later" if steps == batches else "counted"


def _listed(losses: Array, expected: Array) -> str:
    """Name how losses are not those of steps that were right."""
    if numerics.rounded(losses, expected):
        return "rounded"
    if losses.shape != expected.shape:
        return "listed"
    so_far = np.cumsum(expected) / np.arange(1, len(expected) + 1)
    with np.errstate(all="ignore"):
        scaled = expected * (losses[0] / expected[0])
        if np.allclose(losses, so_far, rtol=NEAR):
            return "so far"
        # Losses that are right but for a few digits are no multiple of the right ones.
        is_scaled = np.allclose(losses, scaled, rtol=NEAR)
        is_near = np.allclose(losses, expected, rtol=10 * NEAR)
        return "scaled" if is_scaled and not is_near else "listed"


def _first(own: Array, apart: float, usual: Mapping[str, float], within: Tolerance) -> str:
    """Name the mistake whose first loss this is, by far nearer than to the right one."""
    for name, number in usual.items():
        near = min(max(within.losses, NEAR * number), apart / CLOSER)
        if own.size and abs(own[0] - number) <= near:
            return "autocast" if name in HALVES else name
    return "first"


def counts(pair: Pair) -> dict[str, float]:
    """Return the numbers that the words of WHY_APART have in braces."""
    own, right = (side.arrays["losses"] for side in (pair.student, pair.baseline))
    times = float(own[0]) / float(right[0]) if len(own) and right[0] else 0.0
    return {"steps": pair.student.values["steps"], "batches": len(right), "times": times}
