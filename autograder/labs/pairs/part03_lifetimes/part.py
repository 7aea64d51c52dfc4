"""What part 3 is: its functions."""

from __future__ import annotations

from autograder.lab import Part

part = Part(
    "part03_lifetimes",
    writes=["summarize", "evaluate", "train", "accumulate"],
    warm=["torch._dynamo"],  # 83 MB, which checkpoint() would add to a student's peak
)
SEE = 'see "What usually goes wrong" in the part 3 handout'
