"""Code that is run in a real box and says what it could not do."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path

import pytest

from autograder.course.labs import load_lab
from autograder.model import Job, Limits
from autograder.sandbox import BoxError, try_out

PART = load_lab("resnet18").part("part3_amp")
PROBE = next(name for name, probe in PART.probes.items() if not probe.pair)
ROOT = Path(__file__).parents[2]


def why_not() -> str:
    try:
        try_out()
    except BoxError as problem:
        return f"no box here: {problem}"
    return ""


boxed = pytest.mark.skipif(bool(why_not()), reason=why_not())


def job(code: str, *, seconds: float = 20, memory_mb: int = 512, **files: str) -> Job:
    """A submission that does *code* when it is imported."""
    named = {
        PART.file: textwrap.dedent(code),
        **{f"{name}.py": text for name, text in files.items()},
    }
    staged = {name: text.encode() for name, text in named.items()}
    return Job("resnet18", PART.id, PROBE, "student", 1, Limits(seconds, memory_mb, 1), staged)


def inside(workers, code: str, **limits):
    """Run *code* in a box and return what it left in `said`; anything but a full run fails the test."""
    tail = "\nprint('SAID' + repr(said), flush=True)\nraise NotImplementedError"
    seen = workers(job(textwrap.dedent(code) + tail, **limits))
    assert "SAID" in seen.log, f"{seen.ended}: {seen.error}\n{seen.log}"
    return ast.literal_eval(seen.log.partition("SAID")[2].partition("\n")[0])


REFUSAL = """
def refusal(act, *arguments):
    try:
        act(*arguments)
    except OSError as error:
        return errno.errorcode[error.errno]
    return "done"
"""
TRY = "import ctypes, errno, os, pathlib, socket\n" + REFUSAL
