"""Judges a table that compares a model with itself under checkpointing, against a clock whose every move was scripted.

A row has model, throughput, epoch_time, peak_memory_mb, saved_mb, loss, slowdown and device. Each judge says what is
wrong in one sentence, or nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autograder.checks import table
from autograder.checks.forms import (
    DEVICE,
    Form,
    any_number,
    not_negative,
    or_nothing,
    positive,
    words,
)
from autograder.checks.numerics import close, explained

MODELS = ("Standard", "With Checkpointing")
RESULTS = Form(
    "checkpointing_results.csv",
    (
        words("model", "Standard in the first row, With Checkpointing in the second"),
        positive("throughput", "waiting for data included", "samples/s"),
        positive("epoch_time", "of the measured epoch", "s"),
        or_nothing(
            not_negative(
                "peak_memory_mb", "peak of the GPU's memory, 1e6 bytes; empty without a GPU", "MB"
            )
        ),
        positive(
            "saved_mb",
            "1e6 bytes that autograd keeps for the backward pass of the first batch",
            "MB",
        ),
        any_number("loss", "mean over all samples of the epoch"),
        positive("slowdown", "Standard's throughput / this row's", "x"),
        DEVICE,
    ),
    rows=MODELS,
)
PACE, WHOLE = (
    0.02,
    0.05,
)  # relative: of throughput; of epoch_time, which may hold a little more than the training
EXACT = 0.01  # relative: of a loss beside the trusted one, where a ReLU may turn

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Script:
    """What the clock was told: seconds until all batches arrived, of a forward pass, and more of the very first one."""

    samples: int
    batches: int
    wait: float
    forward: float
    cold: float

    def seconds(self, runs: int) -> float:
        """Return how long an epoch takes whose batches run forward so many times."""
        return self.wait + runs * self.batches * self.forward


def row_problem(rows: Sequence[Row]) -> str:
    """Say what is wrong with the form of the two rows, or how they contradict themselves."""
    if wrong := RESULTS.problem(rows):
        return wrong
    for row in rows:
        ratio = rows[0]["throughput"] / row["throughput"]
        if not table.alike(row["slowdown"], ratio):
            told = f"slowdown of {row['model']} is {row['slowdown']:.4g}"
            return f"{told}, but Standard's throughput / its own is {ratio:.4g}"
    if rows[1]["saved_mb"] >= rows[0]["saved_mb"]:
        return "checkpointing keeps as much for the backward pass as the standard model"
    if not table.alike(rows[1]["loss"], rows[0]["loss"]):
        return "the two losses differ, and checkpointing changes no loss"
    return ""


def doubt(rows: Sequence[Row]) -> str:
    """Say what rows without a problem show all the same that cannot be; noise is no mistake."""
    if rows[1]["slowdown"] >= 1:
        return ""
    return f"checkpointing came out faster ({rows[1]['slowdown']:.2f}) and computes more: repeat the measurement"


def figure_problem(rows: Sequence[Row], trusted: Row) -> str:
    """Say where what has nothing to do with time differs from *trusted*, the row of the standard model."""
    if not close(rows[0]["saved_mb"], trusted["saved_mb"], EXACT):
        return f"saved_mb of Standard is {rows[0]['saved_mb']:.4g}, and given.saved_mb says {trusted['saved_mb']:.4g}"
    if rows[1]["saved_mb"] > trusted["saved_mb"] / 2:
        return "saved_mb of With Checkpointing is that of a model that keeps most of it"
    for row in rows:
        if not close(row["loss"], trusted["loss"], EXACT):
            told = f"loss of {row['model']} is {row['loss']:.4g}"
            return f"{told}; an epoch from fresh weights gives {trusted['loss']:.4g}"
        if row["device"].strip() != trusted["device"].strip():
            return f"the device is called {row['device'][:60]!r}, and its name is {trusted['device']!r}"
        if trusted["peak_memory_mb"] is None and row["peak_memory_mb"] not in (None, ""):
            told = f"peak_memory_mb of {row['model']} is {row['peak_memory_mb']:.4g}"
            return f"{told}, and there was no GPU: it has to be None"
    return ""


def time_problem(rows: Sequence[Row], script: Script) -> str:
    """Say how the figures differ from what the clock showed: with checkpointing each segment runs forward twice."""
    for row, runs in zip(rows, (1, 2), strict=True):
        seconds, told = script.seconds(runs), f"of {row['model']} is"
        if not close(row["throughput"], script.samples / seconds, PACE):
            why = explained(row["throughput"], _rates(script, runs), PACE)
            why = why or f"it was {script.samples / seconds:.4g} samples/s"
            return f"throughput {told} {row['throughput']:.4g} samples/s: {why}"
        if not close(row["epoch_time"], seconds, WHOLE):
            return f"epoch_time {told} {row['epoch_time']:.4g} s, and {seconds:.4g} s passed"
    return ""


def reuse_problem(passes: Sequence[int], batches: int) -> str:
    """Say that no two trainings ran for the batches of an epoch alone; *passes* are each one's forward passes."""
    if passes.count(batches) >= len(MODELS):
        return ""
    return f"the training of a measured epoch ran for more than its {batches} batches: for a warm-up, or for saved_mb"


def _rates(script: Script, runs: int) -> list[tuple[float, str]]:
    seconds = script.seconds(runs)
    cold = (
        script.samples / (seconds + script.cold),
        "it includes the slow first pass: warm up before",
    )
    if runs == 2:  # Standard's is right, so waits are in
        once = script.seconds(1)
        parts = [once + share / 8 * (seconds - once) for share in range(1, 8)]
        part = "only a part of the network ran a second time"
        return [
            cold,
            (script.samples / once, "nothing ran a second time"),
            *((script.samples / it, part) for it in parts),
        ]
    without = (script.samples / (seconds - script.wait), "it leaves out the wait for data")
    return [cold, without, (script.samples / script.seconds(2), "something ran a second time")]
