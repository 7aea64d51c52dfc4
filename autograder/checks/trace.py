"""Reads a profile that a student handed in, behind the fence, and judges what a report says of it."""

from __future__ import annotations

import json
from collections.abc import Sequence

from autograder.errors import SubmissionError
from autograder.model import Failed, Passed, Verdict, from_json
from autograder.sandbox import evaluate
from autograder.traces import claims
from autograder.traces.record import Trace

BYTES = 64 * 1024 * 1024


def read(data: bytes, file: str) -> Trace:
    """Read a profile in a process of its own."""
    if len(data) > BYTES:
        raise SubmissionError(f"{file}: {len(data)} bytes; at most {BYTES} are read; record fewer steps")
    return decoded(evaluate("autograder.traces", data, file))


def decoded(said: bytes) -> Trace:
    """Take what the reader's process printed."""
    answer = json.loads(said)
    if "error" in answer:
        raise SubmissionError(answer["error"])
    return from_json(Trace, answer["trace"])


def agrees(trace: Trace, quantity: str, value: float, *, try_: str) -> Verdict:
    """Pass a number that the profile gives under some accepted definition; else say which mistake it looks like."""
    finding = claims.compare(trace, quantity, value)
    if finding.holds:
        return Passed(finding.words, {"definition": finding.definition})
    return Failed(finding.words, finding.why, try_)


def names_top(trace: Trace, named: Sequence[str], *, try_: str) -> Verdict:
    """Pass names that lead some table of the profile: kernels, operators by own time or by GPU work, and so on."""
    finding = claims.compare_top(trace, named)
    if finding.holds:
        return Passed(finding.words, {"definition": finding.definition})
    return Failed(finding.words, finding.why, try_)
