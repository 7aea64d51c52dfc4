"""Part 6: all of it together. Seven points of a checklist at work, five versions of equal work, a true reflection."""

from autograder.labs.gpu_profiling.part6_final.part import part

# In the order of the checks.
# isort: off
from autograder.labs.gpu_profiling.part6_final import points, whole, comparison, files

__all__ = ["comparison", "files", "part", "points", "whole"]
