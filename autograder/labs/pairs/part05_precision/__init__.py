"""Part 5: fewer bits. A training in 16 bits, what is kept for its backward pass, and a product in 8 bits."""

from autograder.labs.pairs.part05_precision.part import part

# In the order of the checks.
# isort: off
from autograder.labs.pairs.part05_precision import mixed, kept, eight_bits

__all__ = ["eight_bits", "kept", "mixed", "part"]
