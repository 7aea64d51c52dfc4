"""The part: what it has a student write and hand in, and where its handout says how."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autograder.lab import Part
from autograder.labs.distributed.part6_final.configurations import RESULTS

if TYPE_CHECKING:
    from autograder.labs.distributed.part6_final.rig import Rig
else:
    Rig = Any

__all__ = ["FIGURE", "PROGRAM", "SEE", "TABLE", "Rig", "part"]

PROGRAM = "train_distributed.py"
FIGURE = "distributed_comparison.png"
TRACES = ("before_trace.json.gz", "after_trace.json.gz")
PROSE = ("analysis.md", "recommendations.md")
WRITE = "write it, with the numbers of your table by their names"
part = Part(
    "part6_final",
    writes=["compare_configurations"],
    hands_in=[PROGRAM, RESULTS.file, FIGURE, *TRACES, *PROSE],
    tables=[RESULTS],
    made_by=dict.fromkeys(PROSE, WRITE),
    warm=["torch._dynamo"],
)
SEE = 'see "The program" in the part 6 handout'
TABLE = 'see "The table" in the part 6 handout'
