"""Part 5: torch.compile. One graph, built before the clock runs, that trains as the eager model does."""

from autograder.labs.resnet18.part5_compile.part import part

# In the order of the checks.
# isort: off
from autograder.labs.resnet18.part5_compile import training, guard, comparison

__all__ = ["comparison", "guard", "part", "training"]
