"""The part: what it has a student write and hand in, and where its handout says how."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autograder.lab import Part
from autograder.labs.gpu_profiling.part6_final.versions import VERSIONS

if TYPE_CHECKING:
    from autograder.labs.gpu_profiling.part6_final.rig import Rig
else:
    Rig = Any

__all__ = [
    "BEFORE_AFTER",
    "PICTURE",
    "POINTS",
    "PROGRAM",
    "SAME_WORK",
    "TABLE",
    "Rig",
    "part",
]

POINTS = 'see "Seven points" in the part 6 handout'
SAME_WORK = 'see "The same work" in the part 6 handout'
TABLE = 'see "The table" in the part 6 handout'
BEFORE_AFTER = 'see "Before and after" in the part 6 handout'
PROGRAM = "training_final_optimized.py"
PICTURE = "final_comparison.png"
STATS = ("stats_before.txt", "stats_after.txt")
part = Part(
    "part6_final",
    writes=["run_version", "busy_percent", "compare_versions", "draw_comparison", "read_stats"],
    hands_in=[PROGRAM, VERSIONS.file, PICTURE, "final_profile.gz", *STATS, "reflection.md"],
    tables=[VERSIONS],
    made_by=dict.fromkeys(STATS, BEFORE_AFTER),
)
