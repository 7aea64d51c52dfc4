"""What is handed in for part 5, and what its probes and its checks both name."""

from __future__ import annotations

from autograder.lab import Part
from autograder.labs.resnet18.part5_compile import judges

FIGURE = "compile_comparison.png"
part = Part(
    "part5_compile",
    writes=["SpikeGuard", "compile_model", "train_epoch_compiled", "warm_up", "compare_compile"],
    hands_in=[judges.RESULTS.file, FIGURE, "part5_notes.md"],
    tables=[judges.RESULTS],
)

BATCH = 16  # samples
BUILT = 'see "When something is built" in the part 5 handout'
BREAKS = 'see "What breaks a graph" in the part 5 handout'
WRONG = 'see "What usually goes wrong" in the part 5 handout'
