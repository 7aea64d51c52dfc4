"""What is handed in for part 2, and what its probes and its checks both name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autograder.lab import Part
from autograder.labs.resnet18.part2_dataloader import judges

if TYPE_CHECKING:
    from autograder.labs.resnet18.part2_dataloader.rig import Rig
else:
    Rig = Any

__all__ = ["Rig", "part"]

SWEPT, COMPARED = "num_workers_comparison.png", "dataloader_optimization.png"
part = Part(
    "part2_dataloader",
    writes=[
        "measure_loading",
        "make_loader_optimized",
        "sweep_workers",
        "best_workers",
        "compare_configurations",
    ],
    hands_in=[
        judges.SWEEP.file,
        SWEPT,
        judges.COMPARED.file,
        COMPARED,
        "part2_notes.md",
    ],
    tables=[judges.SWEEP, judges.COMPARED],
)

BATCH = 8  # samples
CLOCK = 'see "Where the clock starts" in the part 2 handout'
