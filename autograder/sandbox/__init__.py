"""How a worker is started, fed, watched and killed: the supervisor's side of the wall."""

from autograder.sandbox.workers import Workers

__all__ = ["Workers"]
