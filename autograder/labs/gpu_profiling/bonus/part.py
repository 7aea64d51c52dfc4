"""The part: what it has a student write and hand in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autograder.lab import Part
from autograder.labs.gpu_profiling.bonus.torchrun import NODES

if TYPE_CHECKING:
    from autograder.labs.gpu_profiling.bonus.rig import Rig
else:
    Rig = Any

__all__ = ["Rig", "part"]

part = Part(
    "bonus",
    writes=[
        "conv_relu_pool",
        "cuda_source",
        "record_profile",
        "compare_profiles",
        "node_commands",
        "node_groups",
        "average_over_nodes",
        "fold_norm",
        "predict",
        "measure_latency",
    ],
    hands_in=[NODES.file, "bonus_notes.md"],
    tables=[NODES],
)
