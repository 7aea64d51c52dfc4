"""How a worker is started, fenced, fed, watched and killed: the supervisor's side of the wall."""

from autograder.sandbox.box import BoxError, try_out
from autograder.sandbox.workers import Workers

__all__ = ["BoxError", "Workers", "try_out"]
