"""Bonus: look closer. Memory planned to the byte, profilers that disturb nothing, a study of the CPU, two processes."""

from autograder.labs.resnet18.bonus.part import part

# In the order of the checks.
# isort: off
from autograder.labs.resnet18.bonus import plans, profilers, cpu, processes

__all__ = ["cpu", "part", "plans", "processes", "profilers"]
