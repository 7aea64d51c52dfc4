"""Says what is wrong with a training by how far its masters moved."""

from __future__ import annotations

from autograder.checks import numerics
from autograder.checks.hints import Causes
from autograder.model import Pair

NEAR, WITHIN = 1e-2, 5e-3  # of the update; honest work is at 5e-4, a division in float16 at 4e-2
SCALED = 30  # times as far: a sum over a few batches is less, and the smallest scale more
ROUNDED = 0.1  # of the update: float16 loses a quarter of these gradients without a scale
ZEROED = "call zero_grad() of the float16 copy for each batch"
DIVIDED = "master.grad = half.grad.float() / scale"


def moved(plain: Pair) -> tuple[str, str]:
    """Return why the masters of a plain training are not where they should be, and what to try."""
    ratio = numerics.update(plain).ratio
    if ratio > SCALED:
        return "usually gradients are not divided by `scale`", DIVIDED
    if ratio >= 1.5:
        return "usually gradients of earlier batches are added up in the copy", ZEROED
    if ratio > 0.7:
        why = "usually the copy computes with old weights"
        return why, "after each step, copy the masters back into the copy"
    return "usually gradients are divided by another number than `scale`", DIVIDED


def lost(faint: Pair, slow: Pair) -> tuple[str, str]:
    """Return why a training with a faint loss loses gradients, and what to try; *slow* takes small steps."""
    if not numerics.update(slow).error <= WITHIN:
        return "usually float16 weights are stepped", "fix small_updates_survive first"
    if numerics.update(faint).error > ROUNDED:
        return (
            "gradients become 0 in float16: usually the loss is not multiplied by `scale`",
            "multiply the loss by `scale` before backward()",
        )
    return (
        "gradients are rounded: usually they are divided by `scale` in float16",
        "divide after .float(): half.grad.float() / scale",
    )


OVERFLOWN: Causes = {
    "NaN": (
        "a step was taken with gradients that are not finite",
        "where a gradient is not finite, count the batch and continue, before a master gets a gradient",
    ),
    "times as far": (
        "usually this batch did not overflow, as its loss was not multiplied by `scale`",
        "fix small_gradients_survive first if it fails",
    ),
}
