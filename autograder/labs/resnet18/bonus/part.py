"""What is handed in for the bonus."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autograder.lab import Part
from autograder.labs.resnet18.bonus import judges

if TYPE_CHECKING:
    from autograder.labs.resnet18.bonus.rig import Rig
else:
    Rig = Any

__all__ = ["Rig", "part"]

PICTURED = "cpu_threads.png"
part = Part(
    "bonus",
    writes=[
        "plan_memory",
        "largest_batch",
        "timed",
        "profile_calls",
        "time_lines",
        "study_cpu",
        "train_distributed",
    ],
    hands_in=[judges.PLANS.file, judges.CPU.file, PICTURED, "bonus_notes.md"],
    tables=[judges.PLANS, judges.CPU],
)
