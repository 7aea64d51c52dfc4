"""Judges of what part 3 hands in: a report of pstats, and the memory of each line."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

ROW = re.compile(
    r"^ *(\d{1,12})(?:/(\d{1,12}))? +(\d+\.\d+) +(\d+\.\d+) +(\d+\.\d+) +(\d+\.\d+) +(\S.*)$"
)
DIGIT = 0.00051  # half of the last digit of a time, and a little
FEWEST = 10
NAMES = ("train_epoch", "preprocess")


@dataclass(frozen=True)
class Called:
    """A row of pstats."""

    calls: int
    primitive_calls: int
    own: float
    own_each: float
    seconds: float
    each: float
    function: str

    def problem(self) -> str:
        """Say which of its figures do not fit each other."""
        if self.own > self.seconds + 2 * DIGIT:
            return f"tottime of {self.function} is above its cumtime"
        if not _is_each(self.own_each, self.own, self.calls):
            return f"percall of {self.function} is not tottime / ncalls"
        if not _is_each(self.each, self.seconds, self.primitive_calls):
            return f"percall of {self.function} is not cumtime / primitive calls"
        return ""


def _is_each(each: float, seconds: float, calls: int) -> bool:
    return calls > 0 and abs(each - seconds / calls) <= DIGIT * (1 + 1 / calls)


def report_rows(text: str) -> list[Called]:
    """Return the rows of a report."""
    matches = [match for line in text.splitlines() if (match := ROW.match(line[:500]))]
    return [_called(match) for match in matches]


def _called(match: re.Match[str]) -> Called:
    own, own_each, seconds, each = map(float, match.groups()[2:6])
    first_calls = int(match[2] or match[1])
    return Called(int(match[1]), first_calls, own, own_each, seconds, each, match[7])


def report_problem(text: str, rows: Sequence[Called]) -> str:
    """Say why this is no report about train_epoch by cumulative time; or nothing."""
    if "Ordered by: cumulative time" not in text:
        return 'the report has no line "Ordered by: cumulative time"'
    if len(rows) < FEWEST:
        return f"at least {FEWEST} rows of pstats are expected"
    if any(first.seconds < second.seconds for first, second in pairwise(rows)):
        return "cumtime rises from one row to the next"
    if problem := next(filter(None, (row.problem() for row in rows)), ""):
        return problem
    missing = [name for name in NAMES if not any(f"({name})" in row.function for row in rows)]
    return f"no row is about {missing[0]}: it is a report of another program" if missing else ""


def memory_problem(rows: Sequence[Mapping[str, Any]]) -> str:
    """Say what in the memory of the lines of a training step cannot be; or nothing."""
    if any(first["line"] >= second["line"] for first, second in pairwise(rows)):
        return "the lines do not rise from one row to the next"
    backward = [row for row in rows if ".backward(" in row["code"]]
    if len(backward) != 1 or not any(".step(" in row["code"] for row in rows):
        return (
            "the lines of given.train_step with loss.backward() and optimizer.step() are expected"
        )
    others = [row for row in rows if ".step(" not in row["code"]]
    largest = max(others, key=lambda row: float(row["peak_bytes"]))
    if largest["peak_bytes"] > backward[0]["peak_bytes"]:
        peaks = f"{backward[0]['peak_bytes']:.0f} of backward"
        return f"the peak of line {largest['line']:.0f} is above the {peaks}, which needs the most"
    return ""
