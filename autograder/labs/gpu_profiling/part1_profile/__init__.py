"""Part 1: where the time goes."""

from autograder.labs.gpu_profiling.part1_profile import profile, report
from autograder.labs.gpu_profiling.part1_profile.part import part

__all__ = ["part", "profile", "report"]
