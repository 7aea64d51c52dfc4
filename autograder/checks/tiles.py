"""Judges a function that one kernel of Triton is to compute."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from autograder.model import Failed, Pair, Unavailable, Verdict, verdict
from autograder.probe import BOOLEAN, TEXT, list_of
from autograder.traces.words import many

LAUNCHED = {"launches": list_of(TEXT), "operators": list_of(TEXT), "wrote": BOOLEAN}
"""What a probe answers with that watched a call."""
ALLOCATES = "empty new_empty empty_like empty_strided zeros new_zeros zeros_like full zero_ fill_ lift_fresh"
LOOKS = "view _unsafe_view detach alias slice select permute transpose expand reshape as_strided"
NO_WORK = {f"aten::{name}" for name in f"{ALLOCATES} {LOOKS}".split()}


def without(tools: Pair, name: str) -> Unavailable | None:
    """Owe what a tool is missing for."""
    if name in tools.baseline.values["tools"]:
        return None
    return Unavailable(f"there is no {name} on this machine")


def no_kernel(values: Mapping[str, Any], try_: str) -> Failed | None:
    """Fail what no launch has written."""
    if values["wrote"]:
        return None
    measured = f"{_launches(values)}, and none wrote what was returned"
    why = "operators of PyTorch computed the result, not a kernel of yours"
    return Failed(measured, why, try_)


def one_launch(values: Mapping[str, Any]) -> Verdict:
    """Pass a single launch that wrote the result, with no operator that computes beside it."""
    beside = sorted(set(values["operators"]) - NO_WORK)
    measured = f"{_launches(values)}, and operators of torch: {', '.join(beside[:5]) or 'none'}"
    why, try_ = "", ""
    if not values["launches"]:
        why, try_ = (
            "no kernel was launched: operators of torch computed the result",
            "launch your kernel",
        )
    elif len(values["launches"]) != 1:
        why, try_ = (
            "a call must launch one kernel, once",
            "launch once, by a grid of all numbers of the result",
        )
    elif beside:
        why, try_ = "torch computes beside the kernel", "move this into the kernel"
    elif not values["wrote"]:
        why = "the result is not what the kernel wrote: something else computed it"
        try_ = "compute each number in the kernel, and return the tensor that the kernel stores to"
    return verdict(measured, why, try_)


def _launches(values: Mapping[str, Any]) -> str:
    return many(len(values["launches"]), "launch", "launches")
