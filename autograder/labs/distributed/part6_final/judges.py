"""Judges what two processes did. Each says what was measured, and what is wrong; nothing is where that is empty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from autograder.checks import numerics
from autograder.checks.numerics import shown
from autograder.claims.groups import EXACT, Calls, Group, usual
from autograder.model import Pair

Finding = tuple[str, str]
"""What was measured, and what is wrong with it."""
ROUNDED = 5e-3  # relative: what is left of a figure with three digits
SHARES = 2e-3  # relative: a sample that counts twice changes the accuracy by ten times as much
NEAR, HALF_NEAR = (1e-4, EXACT), (2e-2, 1e-2)  # of the update; of the loss


class Processes(Group):
    """Two processes that read the samples in any order."""

    def reason(self, ranks: Pair, ratio: float) -> str:
        """Look at who read what before anything else."""
        own = ranks.student.values
        read = [each["asked"] for each in own["ranks"]]
        expected = ranks.baseline.values
        every = sorted(chain(*read))
        if every != sorted(chain(*(each["asked"] for each in expected["ranks"]))):
            missing = own["samples"] - len({*every})
            counts = " and ".join(str(len(each)) for each in read)
            asked = len(expected["ranks"][0]["asked"])
            why = f"the processes read {counts} samples where each reads {asked}"
            return f"{why}, and no process read {missing} of the samples"
        ordered = replace(ranks.student, values={**own, "ranks": expected["ranks"]})
        return super().reason(replace(ranks, student=ordered), ratio)


def loss_problem(ranks: Pair, within: float) -> str:
    """Say how the loss is not one process's."""
    own, expected = (side.values["written"]["loss"] for side in (ranks.student, ranks.baseline))
    close = numerics.close(own, expected, within)
    return "" if close else f"loss is {shown(own)}, and it is {shown(expected)}"


def written(ranks: Pair) -> Finding:
    """Compare loss and accuracy with one process's."""
    own, expected = ranks.student.values["written"], ranks.baseline.values["written"]
    why = {
        "loss": "it is that of one process, of one batch or of another epoch",
        "accuracy": "padded shares count a sample twice, and a mean of shares weighs them alike",
    }
    for name, within in (("loss", EXACT), ("accuracy", SHARES)):
        if not numerics.close(own[name], expected[name], within):
            return f"{name} is {shown(own[name])}, and it is {shown(expected[name])}", why[name]
    return f"loss {shown(own['loss'])}, accuracy {shown(own['accuracy'])} in both", ""


def one_writes(ranks: Pair) -> Finding:
    """Look at who wrote, whether the group is gone, and whose the figures are."""
    own, expected = ranks.student, ranks.baseline
    each = own.values["ranks"]
    if any(it["wrote"] for it in each[1:]):
        return (
            "both processes wrote the file for --result",
            "one tears the other's file on one disk",
        )
    if any(it["open"] for it in each):
        return "a process group is there at the end", "a process may wait for it at its exit"
    reasons = {
        "seconds": "they are those of one process, or testing is among them: the slowest decides",
        "peak_mb": "each process has one: gather them in the order of the ranks",
    }
    for name, why in reasons.items():
        reported, right = (side.arrays[name] for side in (own, expected))
        if len(reported) != len(right) or not np.allclose(reported, right, rtol=ROUNDED):
            return f"{name} are {_listed(reported)} where {_listed(right)} are right", why
    for name in ("samples", "steps"):
        reported, right = (side.values["written"][name] for side in (own, expected))
        if reported != right:
            return f"{name} is {shown(reported)}, and it is {shown(right)}", "of all processes"
    return "rank 0 wrote, and the group is gone", ""


def _listed(figures: Any) -> str:
    return ", ".join(f"{figure:.4g}" for figure in figures[:4]) or "none"


def does(ranks: Pair, options: Mapping[str, Any], plain: Pair, apart: str) -> str:
    """Say how a run did not do what its *options* say, or something else; *apart*: how it is not one process's."""
    for rank, own in enumerate(ranks.student.values["ranks"]):
        halves = {"float16", "bfloat16"} if options.get("amp") else {"float32"}
        if not {*own["half"]} <= halves or own["kept"] != ["float32"]:
            computed, kept = (", ".join(own[name]) or "nothing" for name in ("half", "kept"))
            wanted = "float16 or bfloat16" if options.get("amp") else "float32"
            where = f"the model computes in {computed} and keeps {kept}"
            return f"rank {rank}: {where}; {wanted} and float32 are expected"
        if own["taken"] != ranks.baseline.values["ranks"][rank]["taken"]:
            return f"rank {rank}: {own['taken']} steps of the optimizer, and one in each epoch is expected"
        sent, usually = (
            _sent(run.student.values["ranks"][rank]["steps"]) for run in (ranks, plain)
        )
        if sent > usually + ranks.student.values["gradient_bytes"]:
            why = "each batch communicates, not only the last of a step"
            return f"rank {rank}: {sent} bytes in a step, and {usually} without options: {why}"
        if problem := _loads(own["loaders"], options.get("workers", 0)):
            return f"rank {rank}: {problem}"
    steps, right = (side.values["written"]["steps"] for side in (ranks.student, ranks.baseline))
    return apart or f"steps is {shown(steps)}, and it is {shown(right)}" * (steps != right)


def _sent(steps: Sequence[Calls]) -> int:
    return sum(call["bytes"] for call in usual(steps)) if steps else 0


def _loads(loaders: Sequence[Mapping[str, Any]], workers: int) -> str:
    largest = max((it["num_workers"] for it in loaders), default=0)
    if largest != workers:
        return f"num_workers is {largest}, expected {workers}"
    if any(it["pin_memory"] for it in loaders):
        return "memory is pinned without CUDA"
    idle = any(it["num_workers"] and not it["persistent_workers"] for it in loaders)
    return "workers are restarted in each epoch: persistent_workers=True" if idle else ""
