"""What each run of the checks came to: one line of JSON a run, below the student's folder.

The file helps its owner and proves nothing. A line that cannot be read is skipped, and a file
that cannot be written stops no check. It is hidden, so no reader of submissions takes it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from autograder.clock.rule import rule
from autograder.errors import ReadError
from autograder.model import CheckResult, Outcome, PartResult
from autograder.records import from_json, to_json
from autograder.report.pairs_strip import strip

FILE = Path(".perflab", "attempts.jsonl")
MOST = 1000
"""Lines that are read, the last ones."""


@dataclass(frozen=True)
class Speed:
    """A rehearsed speedup and its bar."""

    ratio: float
    bar: float


@dataclass(frozen=True)
class Tried:
    """One part in one run."""

    won: float
    lost: float
    owed: float
    checks: Mapping[str, Outcome]
    speeds: Mapping[str, Speed]

    @property
    def worth(self) -> float:
        """All points of the part."""
        return self.won + self.lost + self.owed


@dataclass(frozen=True)
class Attempt:
    """One run: when it ended, of which lab, and each part that was judged whole."""

    time: str
    lab: str
    parts: Mapping[str, Tried]


def attempt(lab: str, parts: Sequence[PartResult], time: str = "") -> Attempt:
    """Note what is worth keeping of a run that ends now, or at another time."""
    time = time or datetime.now(UTC).isoformat(timespec="seconds")
    return Attempt(time, lab, {part.id: _tried(part) for part in parts})


def read(folder: Path, lab: str) -> list[Attempt]:
    """Read the runs that were kept, oldest first."""
    try:
        lines = (folder / FILE).read_bytes().splitlines()
    except OSError:
        return []
    runs = [_read(line) for line in lines[-MOST:]]
    return [run for run in runs if run is not None and run.lab == lab]


def keep(folder: Path, run: Attempt) -> str:
    """Add a run; return why it could not be kept, or nothing."""
    line = json.dumps(to_json(run)).encode() + b"\n"
    try:
        (folder / FILE).parent.mkdir(exist_ok=True)
        with (folder / FILE).open("a+b") as file:
            file.write(_end_of_line(file.fileno()) + line)
    except OSError as problem:
        return problem.strerror or str(problem)
    return ""


def _end_of_line(file: int) -> bytes:
    """End a last line that was cut off, so that it does not spoil the next one."""
    size = os.fstat(file).st_size
    return b"" if size == 0 or os.pread(file, 1, size - 1) == b"\n" else b"\n"


def _read(line: bytes) -> Attempt | None:
    try:
        return from_json(Attempt, json.loads(line))
    except (ValueError, RecursionError, ReadError):
        return None


def _tried(part: PartResult) -> Tried:
    owed = round(sum(check.owed for check in part.checks), 2)
    lost = round(part.max_score - part.score - owed, 2) + 0.0  # never -0.0
    speeds = {check.id: speed for check in part.checks if (speed := _speed(check))}
    outcomes = {check.id: check.outcome for check in part.checks}
    return Tried(part.score, lost, owed, outcomes, speeds)


def _speed(check: CheckResult) -> Speed | None:
    if strip(check.evidence) is None:
        return None
    bar = check.evidence["bar"]
    ratio = rule(check.evidence["pairs"], bar, last=True).ratio
    return None if ratio is None else Speed(round(ratio, 4), bar)
