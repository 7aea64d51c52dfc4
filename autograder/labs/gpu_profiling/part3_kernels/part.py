"""The part: what it has a student write and hand in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autograder.lab import Part
from autograder.labs.gpu_profiling.part3_kernels.judges import RESULTS

if TYPE_CHECKING:
    from autograder.labs.gpu_profiling.part3_kernels.rig import Rig
else:
    Rig = Any

__all__ = ["LAUNCH", "OWN_REPORT", "REPORT", "Rig", "part"]

LAUNCH = 'see "What is a launch" in the part 3 handout'
REPORT = 'see "A report of ncu" in the part 3 handout'
OWN_REPORT = 'see "Your own report" in the part 3 handout'
part = Part(
    "part3_kernels",
    writes=[
        "OptimizedNet",
        "map_weights",
        "compile_net",
        "count_launches",
        "compare_nets",
        "ncu_command",
        "read_ncu",
    ],
    hands_in=[RESULTS.file, "kernel_report.txt", "part3_notes.md"],
    tables=[RESULTS],
)
