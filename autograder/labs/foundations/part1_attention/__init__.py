"""Part 1: attention. The results and gradients of the formula, without its matrix of scores; how both versions grow.

Above 60 lines an exercise: attention has eleven checks, each with its own inputs and words, and a figure is judged by
its axes, points and lines.
"""

from autograder.labs.foundations.part1_attention.part import part

# In the order of the checks.
# isort: off
from autograder.labs.foundations.part1_attention import numbers, costs, growth

__all__ = ["costs", "growth", "numbers", "part"]
