"""One warm process behind the fence, for all tests here that attack it or are timed in it."""

from __future__ import annotations

import pytest

from autograder.sandbox import BoxError, Workers, try_out
from autograder.sandbox.workers import PRELOAD


def fence() -> str:
    """What keeps workers in here."""
    try:
        try_out()
    except BoxError:
        return "none"
    return "bubblewrap"


@pytest.fixture(scope="session")
def fenced():
    with Workers(fence(), [*PRELOAD, "tests.timed_toy"]) as warm:
        warm.warm()
        yield warm
