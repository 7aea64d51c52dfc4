"""Judges a table that compares a model with itself under checkpointing, against a scripted clock."""

from __future__ import annotations

from collections.abc import Sequence

from autograder.checks import slips, table
from autograder.checks.slips import Epoch
from autograder.checks.table_form import (
    DEVICE,
    Form,
    Row,
    any_number,
    not_negative,
    or_nothing,
    positive,
    ratio,
    words,
)

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
        ratio("slowdown", "first throughput", "throughput"),
        DEVICE,
    ),
    rows=("Standard", "With Checkpointing"),
)
EXACT = 0.01  # relative: of a loss beside the trusted one, where a ReLU may turn


def row_problem(rows: Sequence[Row]) -> str:
    """Say what two rows in the right form show that checkpointing does not do."""
    if rows[1]["saved_mb"] >= rows[0]["saved_mb"]:
        return "checkpointing keeps as much for the backward pass as the standard model"
    if not table.alike(rows[1]["loss"], rows[0]["loss"]):
        return "the two losses differ, but checkpointing changes no loss"
    return ""


def doubt(rows: Sequence[Row]) -> str:
    """Say what rows without a problem show all the same that cannot be; noise is no mistake."""
    if rows[1]["slowdown"] >= 1:
        return ""
    return (
        f"checkpointing came out faster ({rows[1]['slowdown']:.2f}) "
        "but computes more: repeat the measurement"
    )


def figure_problem(rows: Sequence[Row], trusted: Row) -> str:
    """Say where what has nothing to do with time differs from *trusted*, the row of the standard model."""
    if wrong := RESULTS.mismatch(rows[0], "saved_mb", trusted["saved_mb"], EXACT):
        return f"{wrong}, as given.saved_mb says"
    if rows[1]["saved_mb"] > trusted["saved_mb"] / 2:
        return "saved_mb of With Checkpointing is that of a model that keeps most activations"
    losses = (RESULTS.mismatch(row, "loss", trusted["loss"], EXACT) for row in rows)
    if wrong := next(filter(None, losses), ""):
        return f"{wrong} for an epoch from fresh weights"
    on_gpu = trusted["peak_memory_mb"] is not None
    return RESULTS.machine_problem(rows, trusted["device"], on_gpu=on_gpu)


def time_problem(rows: Sequence[Row], epochs: Sequence[Epoch]) -> str:
    """Say how the figures differ from what the clock showed: with checkpointing each segment runs forward twice."""
    once, twice = epochs
    part = "only a part of the network ran a second time"
    parts = [once.seconds + share / 8 * (twice.seconds - once.seconds) for share in range(1, 8)]
    of_once = [*once.slips(), (twice.rate, "something ran a second time")]
    of_twice = [
        twice.slips()[0],
        (once.rate, "nothing ran a second time"),
        *((once.samples / seconds, part) for seconds in parts),
    ]
    return slips.time_problem(RESULTS, rows[0], once, of_once) or slips.time_problem(
        RESULTS, rows[1], twice, of_twice
    )


def reuse_problem(passes: Sequence[int], batches: int) -> str:
    """Say that no two trainings ran for the batches of an epoch alone; *passes* are each one's forward passes."""
    if passes.count(batches) >= 2:
        return ""
    return (
        f"the training of a measured epoch ran more than its {batches} batches: "
        "also a warm-up, or the batch for saved_mb"
    )
