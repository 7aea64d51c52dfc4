"""One warm process for all tests that start real workers, and Ctrl-C for what they start."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from functools import cache

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


CHILD = "PERFLAB_TESTS_IN_A_FRESH_PROCESS"


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Take what a fresh process said of a test that is marked so: torch.compile is another once it was used."""
    if not pyfuncitem.get_closest_marker("fresh") or CHILD in os.environ:
        return None
    outcome, output = outcomes(str(pyfuncitem.path)).get(pyfuncitem.name, ("MISSING", ""))
    if outcome != "PASSED":
        pytest.fail(f"{outcome} in a process of its own\n{output}", pytrace=False)
    return True


@cache
def outcomes(file):
    """Run the tests of a file in a process of its own; return name -> its outcome, and what was printed."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:xdist",
        "-p",
        "no:cacheprovider",
        "-rA",
        file,
    ]
    environment = {name: value for name, value in os.environ.items() if "XDIST" not in name}
    ended = subprocess.run(
        command, env=environment | {CHILD: "1"}, capture_output=True, text=True, check=False
    )
    lines = re.findall(r"^(PASSED|FAILED|ERROR) \S*?::(.+?)(?: - .*)?$", ended.stdout, re.MULTILINE)
    return {name: (outcome, ended.stdout[-3000:]) for outcome, name in lines}
