"""A submission of one part that does any code."""

from __future__ import annotations

import textwrap

from autograder.course.labs import load_lab
from autograder.model import Job, Limits

PART = load_lab("resnet18").part("part3_amp")
PROBE = next(name for name, probe in PART.probes.items() if not probe.pair)
DEFINES = "def train_epoch_amp(*a, **k): ...\ndef compare_precision(*a, **k): ...\n"


def job(code: str, *, seconds: float = 20, memory_mb: int = 512, output_mb: int = 1) -> Job:
    """A submission that does *code* when it is imported."""
    text = DEFINES + textwrap.dedent(code)
    return Job(
        "resnet18",
        PART.id,
        PROBE,
        "student",
        1,
        Limits(seconds, memory_mb, output_mb),
        {PART.file: text.encode()},
    )
