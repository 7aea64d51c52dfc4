"""Part 5: fewer bits. A training in 16 bits, what is kept for its backward pass, and a product in 8 bits."""

from __future__ import annotations

from autograder.lab import Part

part = Part("part05_precision", writes=["train_mixed"])
WRONG = 'see "What usually goes wrong" in the part 5 handout'
