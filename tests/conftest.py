"""One warm process for all tests that start real workers."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def workers():
    from autograder.sandbox import Workers

    with Workers() as warm:
        warm.warm()
        yield warm
