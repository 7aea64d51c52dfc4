"""One pair of a submission against the baseline, in short windows."""

from __future__ import annotations

from autograder.clock.pairs import alternating
from autograder.model import Job, Limits
from autograder.probe import Close, Tolerance
from autograder.sandbox.calls import Calls
from autograder.sandbox.train import Train
from autograder.sandbox.windows import TimedWorker
from tests import timed_toy
from tests.timed_toy import BASELINE, FILE, LAB

CALLS, BATCHES = 20, 8
WITHIN = Tolerance(losses=1e-4, weights=1e-4)
DEFINES = (
    "import os, sys, threading, time\nimport torch\n\ndef honest(x):\n    return x.sum()[None]\n\n"
)


def job(code: str, side: str = "student", probe: str = "sums") -> Job:
    return Job(LAB, timed_toy.part.id, probe, side, 1, Limits(), {FILE: code.encode()})


def pair(workers, code: str, *, probe: str = "sums", patience: float = 5.0) -> float:
    """One pair of a submission against the baseline, in windows of a few milliseconds."""
    seed = 7
    work = (
        Calls(timed_toy.draw, CALLS, seed, Close())
        if probe == "sums"
        else Train(BATCHES, seed, WITHIN)
    )
    baseline, evaluator = (
        TimedWorker(name, job(BASELINE, "baseline", probe), workers, work, patience)
        for name in ("baseline", "evaluator")
    )
    ratio = alternating(
        baseline, TimedWorker("student", job(code, probe=probe), workers, work, patience), 1
    )
    evaluator.settle()
    return ratio
