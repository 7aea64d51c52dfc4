"""Part 6: what it was worth. One program with every option, five configurations of equal work, more processes."""

from autograder.labs.distributed.part6_final.part import part

# In the order of the checks.
# isort: off
from autograder.labs.distributed.part6_final import program, comparison, files

__all__ = ["comparison", "files", "part", "program"]
