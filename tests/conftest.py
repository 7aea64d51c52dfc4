"""One warm process for all tests that start real workers, and Ctrl-C for what they start."""

from __future__ import annotations

import signal

import pytest

if (
    signal.getsignal(signal.SIGINT) == signal.SIG_IGN
):  # begun with & in a script: children would be deaf to Ctrl-C, too
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def workers():
    from autograder.sandbox import Workers

    with Workers() as warm:
        warm.warm()
        yield warm
