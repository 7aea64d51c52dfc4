"""On a node: a worker of Parsl's hands each job to a process of its own that stays warm.

That process is `perflab grade-one -`. What takes it down takes nothing else with it, and says that
the submission did it; where the worker or the whole node is gone, it was none of its doing.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from autograder.machine.device import VISIBLE, node
from autograder.machine.processes import how

COMMAND = [sys.executable, "-P", "-m", "autograder.cli", "grade-one", "-"]
RANK = "PARSL_WORKER_RANK"
"""Of this worker among those of its node, from 0."""
GRACE_SECONDS = 5.0
"""A pilot that is killed loses its processes one after the other: a worker that lives longer was not killed with it."""

_grader: subprocess.Popen[str] | None = None


def grade(job: str, gpus: int, seconds: float) -> dict[str, Any]:
    """Have one job graded; the answer is that of `grade-one -`, or how it was lost."""
    # One for each worker, for as long as that lasts.
    global _grader  # noqa: PLW0603
    if _grader is None or _grader.poll() is not None:
        try:
            environ = pinned(os.environ, gpus)
        except ValueError as problem:
            return {"stop": f"node {node()}: {problem}"}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        _grader = subprocess.Popen(COMMAND, env=environ, **pipes)  # type: ignore[call-overload]
    line = _answer(_grader, job, seconds)
    if line:
        return {**json.loads(line)}
    lost = _end(_grader)
    time.sleep(GRACE_SECONDS)
    return {"lost": lost}


def _answer(grader: subprocess.Popen[str], job: str, seconds: float) -> str:
    """Send a job and wait for the answer; nothing if there is none, or none in time."""
    assert grader.stdin is not None
    assert grader.stdout is not None
    try:
        grader.stdin.write(job + "\n")
        grader.stdin.flush()
    except OSError:
        return ""
    ready, _, _ = select.select([grader.stdout], [], [], seconds)
    return grader.stdout.readline() if ready else ""


def _end(grader: subprocess.Popen[str]) -> str:
    """End it if it still runs, and return how it ended."""
    grader.kill()
    with suppress(OSError), grader:  # half of a question may be left
        pass
    return how(grader.wait())


def pinned(environ: Mapping[str, str], gpus: int) -> dict[str, str]:
    """Give a worker one of the GPUs that the job was given.

    If the job names none, it is one of the first of the node.
    """
    if not gpus:
        return dict(environ)
    given = environ.get(VISIBLE, ",".join(map(str, range(gpus))))
    words = [word for word in given.split(",") if word.strip()]
    if len(words) < gpus:
        raise ValueError(
            f"{VISIBLE} is '{given}', but the site file says gpus: {gpus}; "
            "let its options ask for as many"
        )
    return {**environ, VISIBLE: words[int(environ[RANK])]}
