"""Part 7: a window of keys. FlexAttention with blocks that are skipped, and attention cut to its band by hand."""

from autograder.labs.pairs.part07_attention.part import part

# In the order of the checks.
# isort: off
from autograder.labs.pairs.part07_attention import masks, flex, banded, speed

__all__ = ["banded", "flex", "masks", "part", "speed"]
