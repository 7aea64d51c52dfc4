"""How a worker is started, fenced, fed, watched and killed.

The supervisor's side of the wall.
"""

from autograder.sandbox.box import BoxError, try_out
from autograder.sandbox.evaluate import evaluate, evaluate_file
from autograder.sandbox.workers import Workers

__all__ = ["BoxError", "Workers", "evaluate", "evaluate_file", "try_out"]
