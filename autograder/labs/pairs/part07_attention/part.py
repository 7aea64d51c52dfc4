"""The part: what it has a student write."""

from __future__ import annotations

from autograder.lab import Part

WRONG = 'see "What usually goes wrong" in the part 7 handout'
# The first call of flex_attention imports what compiles it.
part = Part(
    "part07_attention",
    warm=["torch.nn.attention.flex_attention", "torch._dynamo"],
)
