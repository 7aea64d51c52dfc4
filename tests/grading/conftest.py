"""A stopwatch that no test has to wait for."""

from __future__ import annotations

from random import Random

import pytest

from autograder.grading import stopwatch as module
from autograder.grading.stopwatch import Stopwatch
from tests.grading.simulated_worker import Machine, SimulatedWorker


@pytest.fixture
def watch(monkeypatch):
    """A stopwatch on a simulated machine."""
    monkeypatch.setattr(module, "TimedWorker", SimulatedWorker)

    def make(rehearsal=False, **machine):
        found = Machine(**machine)
        numbers = Random(2)
        return Stopwatch(
            found, rehearsal, lambda: found.time, lambda: numbers.getrandbits(64)
        ), found

    return make
