"""What is handed in for part 4, and what its probes and its checks both name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autograder.checks.table_form import (
    DEVICE,
    Form,
    any_number,
    not_negative,
    or_nothing,
    positive,
    ratio,
    words,
)
from autograder.lab import Part

if TYPE_CHECKING:
    from autograder.labs.resnet18.part4_memory.rig import Rig
else:
    Rig = Any

__all__ = ["Rig", "part"]

RESULTS = Form(
    "checkpointing_results.csv",
    (
        words("model", "Standard in the first row, With Checkpointing in the second"),
        positive("throughput", "waiting for data included", "samples/s"),
        positive("epoch_time", "of the measured epoch", "s"),
        or_nothing(
            not_negative(
                "peak_memory_mb",
                "peak of the GPU's memory in the measured epoch, 1e6 bytes; empty without a GPU",
                "MB",
            )
        ),
        positive(
            "saved_mb",
            "what autograd keeps for the backward pass of the loader's first batch, in 1e6 bytes",
            "MB",
        ),
        any_number("loss", "mean over all samples of the epoch"),
        ratio("slowdown", "first throughput", "throughput"),
        DEVICE,
    ),
    rows=("Standard", "With Checkpointing"),
)
FIGURE = "checkpointing_comparison.png"
part = Part(
    "part4_memory",
    writes=[
        "train_epoch_with_accumulation",
        "run_checkpointed",
        "ResNet18Checkpointed",
        "compare_checkpointing",
    ],
    hands_in=[RESULTS.file, FIGURE, "part4_notes.md"],
    tables=[RESULTS],
)

BATCH = 8  # samples
MOMENTUM = 0.9  # so that a step too many moves the weights, even one whose gradient is 0
TWICE = 'see "What runs twice" in the part 4 handout'
LEFT = {"start": ("float32", 1), "weights": ("float32", 1)}
