"""Part 6: everything together. One program with every optimization, a fair comparison of all, a report that is true."""

from autograder.labs.resnet18.part6_comparison.part import part

# In the order of the checks.
# isort: off
from autograder.labs.resnet18.part6_comparison import runs, program, comparison, files

__all__ = ["comparison", "files", "part", "program", "runs"]
