"""Judges of what part 3 hands in: a report of pstats, and the memory of each line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from autograder.checks.table_form import Row

ROW = re.compile(r"^ *\d+(?:/\d+)? +\d+\.\d+ +\d+\.\d+ +(\d+\.\d+) +\d+\.\d+ +(\S.*)$")
"""Of pstats: its cumulative time and its function."""
FEWEST = 10
NAMES = ("train_epoch", "preprocess")


def report(text: str) -> tuple[list[str], str]:
    """Return the rows of a report, and why it is none about train_epoch by cumulative time; or nothing."""
    matches = [match for line in text.splitlines() if (match := ROW.match(line[:500]))]
    seconds, functions = [float(it[1]) for it in matches], [it[2] for it in matches]
    missing = [name for name in NAMES if not any(f"({name})" in it for it in functions)]
    problem = ""
    if "Ordered by: cumulative time" not in text:
        problem = 'the report has no line "Ordered by: cumulative time"'
    elif len(functions) < FEWEST:
        problem = f"at least {FEWEST} rows of pstats are expected"
    elif seconds != sorted(seconds, reverse=True):
        problem = "cumtime rises from one row to the next"
    elif missing:
        problem = f"no row is about {missing[0]}: it is a report of another program"
    return functions, problem


def memory_problem(rows: Sequence[Row]) -> str:
    """Say what in the memory of the lines of a training step cannot be; or nothing."""
    if any(first["line"] >= second["line"] for first, second in pairwise(rows)):
        return "the numbers of the lines do not rise from one row to the next"
    peaks = {row["code"]: row["peak_bytes"] for row in rows if ".step(" not in row["code"]}
    backward = [peak for code, peak in peaks.items() if ".backward(" in code]
    if len(backward) != 1 or len(peaks) == len(rows):
        return (
            "the lines of given.train_step with loss.backward() and optimizer.step() are expected"
        )
    if max(peaks.values()) > backward[0]:
        line = max(peaks, key=lambda code: float(peaks[code]))
        return (
            f"the peak of the line '{line[:60]}' is above that of loss.backward(), "
            "which needs the most memory"
        )
    return _not_restarted(rows, backward[0])


def _not_restarted(rows: Sequence[Row], highest: float) -> str:
    """Say which line has the peak of loss.backward(), although little is left after it; or nothing."""
    same = [row["code"] for row in rows if row["peak_bytes"] == highest]
    if len(same) < 2:
        return ""
    return (
        f"the line '{same[1][:60]}' has the very peak of '{same[0][:60]}': "
        "without restart() a peak is that of all lines so far"
    )
