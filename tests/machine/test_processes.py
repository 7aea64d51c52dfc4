"""Processes that are tied to each other."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.machine.processes import how

CHILD = "import os, time; from autograder.machine.processes import die_with; die_with(os.getppid()); print(os.getpid(), flush=True); time.sleep(60)"
PARENT = (
    f"import subprocess, sys; print(subprocess.Popen([sys.executable, '-c', {CHILD!r}]).wait())"
)
LATE = "from autograder.machine.processes import die_with; die_with(1); print('still here')"


def test_a_tied_process_ends_with_the_one_that_started_it():
    """Also where that was killed, and cannot tell anybody."""
    with subprocess.Popen(
        [sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True
    ) as parent:
        child = int(parent.stdout.readline())
        parent.kill()
        parent.stdout.read()  # until the child is gone, who shares it

    # Nobody may have asked yet how it ended; then it is there, with no command line.
    left = b""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        left = Path(f"/proc/{child}/cmdline").read_bytes()
    assert left == b""


def test_who_is_tied_to_a_process_that_is_gone_ends_at_once():
    """It was gone before the tie was made."""
    done = subprocess.run([sys.executable, "-c", LATE], check=True, capture_output=True, text=True)

    assert "" == done.stdout


WORDS = {-9: "its grader was killed by SIGKILL", 3: "its grader ended with 3"}


@pytest.mark.parametrize("code", WORDS)
def test_how_a_grader_ended_is_said(code):
    """As the journal says it."""
    assert WORDS[code] == how(code)
