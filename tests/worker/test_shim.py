"""What a probe is handed of the student's module."""

from __future__ import annotations

from types import ModuleType

import pytest

from autograder.lab import Probe
from autograder.worker.shim import taken


@pytest.fixture
def student():
    module = ModuleType("part1_toy")
    module.__file__ = "part1_toy.py"
    module.first, module.second = (lambda: 1), (lambda: 2)
    return module


def test_a_probe_gets_what_it_takes_and_is_told_what_it_forgot_to_declare(student):
    """What need not run again for a mistake follows from the declaration, so it has to be true."""
    view = taken(student, Probe("results", print, takes=frozenset({"first"})))

    assert (1, "part1_toy.py") == (view.first(), view.__file__)
    with pytest.raises(AttributeError, match="the probe results does not say that it takes second"):
        view.second()


def test_a_probe_that_declares_nothing_gets_the_module(student):
    assert student is taken(student, Probe("results", print))
