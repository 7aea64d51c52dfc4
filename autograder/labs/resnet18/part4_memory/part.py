"""What is handed in for part 4, and what its probes and its checks both name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autograder.lab import Part
from autograder.labs.resnet18.part4_memory import judges

if TYPE_CHECKING:
    from autograder.labs.resnet18.part4_memory.rig import Rig
else:
    Rig = Any

__all__ = ["Rig", "part"]

FIGURE = "checkpointing_comparison.png"
part = Part(
    "part4_memory",
    writes=[
        "train_epoch_with_accumulation",
        "run_checkpointed",
        "ResNet18Checkpointed",
        "compare_checkpointing",
    ],
    hands_in=[judges.RESULTS.file, FIGURE, "part4_notes.md"],
    tables=[judges.RESULTS],
)

BATCH = 8  # samples
MOMENTUM = 0.9  # so that a step too many moves the weights, even one whose gradient is 0
TWICE = 'see "What runs twice" in the part 4 handout'
WRONG = 'see "What usually goes wrong" in the part 4 handout'
LEFT = {"start": ("float32", 1), "weights": ("float32", 1)}
