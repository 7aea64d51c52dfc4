"""Part 1: baseline and profile. Data and model as asked, an honest clock, a profile of ten batches, what it says."""

from autograder.labs.resnet18.part1_baseline.part import part

# In the order of the checks.
# isort: off
from autograder.labs.resnet18.part1_baseline import data, model, training, trace

__all__ = ["data", "model", "part", "trace", "training"]
