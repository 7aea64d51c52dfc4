"""Runs a module of ours on a file that may be hostile, as a process of its own.

In a box where there is one.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from autograder.errors import SubmissionError
from autograder.sandbox import box
from autograder.sandbox.stage import staged

SECONDS = 120.0
OUT_OF_TIME = (-signal.SIGXCPU, 128 + signal.SIGXCPU)  # by itself, and as bubblewrap hands it on
FILE = "handed_in"
ENVIRON = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "LANG": "C.UTF-8",
    "PATH": "/usr/bin:/bin",
}


def evaluate(module: str, data: bytes, name: str) -> bytes:
    """Return what `python -m module` prints of these bytes, read behind a fence if this
    machine has one.
    """
    try:
        box.try_out()
    except box.BoxError:
        with staged({FILE: data}) as (code, _):
            return evaluate_file(module, code / FILE, name)
    with staged({FILE: data}, box.unprivileged().get("user")) as (code, _):
        command = ["/usr/bin/env", *(f"{key}={value}" for key, value in ENVIRON.items())]
        process = box.start(
            code, [*command, *_python(module, box.CODE / FILE, name)], errors=subprocess.DEVNULL
        )
        return _said(process, name)


def evaluate_file(module: str, path: Path, name: str) -> bytes:
    """Do the same without a fence, with a file of the user's own.

    Under limits, as the user.
    """
    process = subprocess.Popen(
        _python(module, path.resolve(), name),
        env={**ENVIRON, "TMPDIR": tempfile.gettempdir()},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    return _said(process, name)


def _python(module: str, path: Path, name: str) -> list[str]:
    return [sys.executable, "-I", "-m", module, str(path), name]


def _said(process: subprocess.Popen[bytes], name: str) -> bytes:
    late = False
    try:
        output, _ = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        late = True
    if late or process.returncode in OUT_OF_TIME:
        raise SubmissionError(
            f"{name}: reading it took more than {SECONDS:g} s; record fewer steps"
        )
    if process.returncode != 0 or not output:
        raise SubmissionError(
            f"{name}: broke the reader, so the file is damaged: write or export it again"
        )
    return output
