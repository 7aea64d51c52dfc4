"""Part 2: profiling. What a profile says: of some steps, of memory at one moment, of each module."""

from autograder.labs.pairs.part02_profiling.part import part

# In the order of the checks.
# isort: off
from autograder.labs.pairs.part02_profiling import steps, modules, memory

__all__ = ["memory", "modules", "part", "steps"]
