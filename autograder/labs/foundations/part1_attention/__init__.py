"""Part 1: attention. The results and gradients of the formula, without its matrix of scores; how both versions grow."""

from autograder.labs.foundations.part1_attention.part import part

# In the order of the checks.
# isort: off
from autograder.labs.foundations.part1_attention import numbers, growth, costs, files

__all__ = ["costs", "files", "growth", "numbers", "part"]
