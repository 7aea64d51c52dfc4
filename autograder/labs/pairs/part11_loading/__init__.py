"""Part 11: batches, not samples. A data set that is asked for a batch at once, and a loader for it."""

from autograder.labs.pairs.part11_loading.part import part

# In the order of the checks.
# isort: off
from autograder.labs.pairs.part11_loading import delivery, batches, speed

__all__ = ["batches", "delivery", "part", "speed"]
