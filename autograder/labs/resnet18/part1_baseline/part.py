"""What is handed in for part 1, and what its probes and its checks both name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autograder.lab import Part

if TYPE_CHECKING:
    from autograder.labs.resnet18.part1_baseline.rig import Rig
else:
    Rig = Any

__all__ = ["Rig", "part"]

part = Part(
    "part1_baseline",
    writes=[
        "make_transforms",
        "make_data",
        "make_model",
        "train_epoch",
        "profile_training",
        "analyse_trace",
    ],
    hands_in=["baseline_trace.json.gz", "answers.json", "part1_notes.md"],
)

RANGES = ("forward", "backward", "optimizer_step")
PASSED_OVER, RECORDED = 2, 10  # batches of the profile
