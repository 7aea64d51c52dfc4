"""What is handed in for part 6, and what its probes and its checks both name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autograder.checks.configurations import RESULTS
from autograder.lab import Part

if TYPE_CHECKING:
    from autograder.labs.resnet18.part6_comparison.rig import Rig
else:
    Rig = Any

__all__ = ["Rig", "part"]

PROGRAM = "optimized_training.py"
DASHBOARD = "optimization_dashboard.png"
REPORT = "optimization_report.md"
part = Part(
    "part6_comparison",
    writes=["run_configuration", "compare_all", "summarize", "draw_dashboard"],
    hands_in=[PROGRAM, RESULTS.file, DASHBOARD, REPORT],
    tables=[RESULTS],
    made_by={
        PROGRAM: 'write it: see "The program" in the part 6 handout',
        REPORT: 'write it, with the numbers of your table: see "The report" in the part 6 handout',
    },
)

BATCH = 8  # samples
EPOCHS = 2
SIDE = 8  # pixels
TINY = 1 << 18  # times is a loss, so that its gradients are 0 in float16 without a scaler
SMALLER = 64  # times is a loss, so that sums of its gradients fit into float16 with a scaler that begins high
