"""Part 3: lifetimes. What a loop keeps alive: chunks, graphs, losses, micro-batches."""

from autograder.labs.pairs.part03_lifetimes.part import part

# In the order of the checks.
# isort: off
from autograder.labs.pairs.part03_lifetimes import chunks, evaluation, training

__all__ = ["chunks", "evaluation", "part", "training"]
