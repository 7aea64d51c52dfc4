"""Part 4: memory. Checkpointing that trains every weight, mixed precision, whole steps measured at four batch sizes."""

from autograder.labs.gpu_profiling.part4_memory.part import part

# In the order of the checks.
# isort: off
from autograder.labs.gpu_profiling.part4_memory import checkpoints, training, measurement

__all__ = ["checkpoints", "measurement", "part", "training"]
