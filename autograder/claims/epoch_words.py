"""Says which batches an epoch left out, and which figures of it are not what passed."""

from __future__ import annotations

from typing import Any

from autograder.checks import numerics, timing
from autograder.checks.numerics import close, shown
from autograder.checks.table_form import UNUSUAL
from autograder.model import Failed

PASSED = {  # what to try where a figure is not what passed
    "epoch_time": "return the seconds from before the loop until the device is done with all of it",
    "samples": "return the sum of len(labels) of all batches as samples",
}


def passed_over(passes: int, batches: int) -> dict[str, Any]:
    """Say which batches the model was not called for; nothing if it was for all."""
    if not passes:
        why = "the model was never called as model(images)"
        return {"why": why, "try_": "call outputs = model(images) for each batch"}
    if passes < batches:
        why = f"the model was called for {passes} of {batches} batches"
        return {"why": why, "try_": f"{numerics.WHOLE}, and train on each"}
    return {}


def not_handed_on(count: int, samples: int) -> Failed:
    """Fail batches that were not handed on as they came."""
    measured = f"step got {count} samples, and the loader gave {samples}"
    if count == samples:
        measured = f"{measured}, in another order"
    why = "each batch is to be handed on once, as it comes"
    return Failed(measured, why, "call step once for each batch, and go through the loader once")


def not_passed(name: str, reported: float | None, passed: float, batches: int) -> Failed:
    """Fail an epoch_time, or a number of samples, that is not what passed."""
    why, try_ = UNUSUAL, PASSED[name]
    if close(reported, 1000 * passed, timing.EXACT):
        why, try_ = "it is in milliseconds", timing.IN_SECONDS
    elif name == "samples" and reported == batches:
        why = "batches are counted, and not samples"
    return Failed(f"{name} is {shown(reported)}, and {passed:.4g} is right", why, try_)
