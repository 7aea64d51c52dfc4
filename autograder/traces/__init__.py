"""Profiles: readers of what profilers write, and figures that carry their definition.

source -> jsonstream, kineto | nsys | stats | ncu -> events -> windows, metrics, breakdown, tables -> summary: a Trace
record: what is handed on    definitions: what each figure is    claims: a number in a report against them
"""

from __future__ import annotations

from pathlib import Path

from autograder.errors import SubmissionError
from autograder.traces.record import Trace
from autograder.traces.source import Source

__all__ = ["Trace", "read"]


def read(path: Path, name: str = "") -> Trace:
    """Read a profile, whichever tool wrote it; `SubmissionError` says what to do about one that cannot be read."""
    source = Source(path, name)
    if source.form == "json":
        return _kineto(source)
    raise SubmissionError(f"{source.name}: is no profile that is read here")


def _kineto(source: Source) -> Trace:
    from autograder.traces import kineto
    from autograder.traces.summary import summarise

    found = kineto.read(source)
    return summarise(source, "kineto", found.timed, devices=found.devices, notes=found.notes, signals=found.facts)
