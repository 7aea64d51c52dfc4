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
    """Return the rows of a report, and how it is none about train_epoch by cumulative time; or nothing."""
    matches = [match for line in text.splitlines() if (match := ROW.match(line[:500]))]
    seconds, functions = [float(it[1]) for it in matches], [it[2] for it in matches]
    missing = [name for name in NAMES if not any(f"({name})" in it for it in functions)]
    problem = ""
    if "Ordered by: cumulative time" not in text:
        problem = 'no line "Ordered by: cumulative time"'
    elif len(functions) < FEWEST:
        problem = f"{len(functions)} rows of pstats, and at least {FEWEST} are needed"
    elif seconds != sorted(seconds, reverse=True):
        problem = "cumtime rises from one row to the next"
    elif missing:
        problem = f"no row of {missing[0]} among {len(functions)} rows"
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
            f"the peak of the line '{line[:60]}' is {peaks[line]:.0f}, above the {backward[0]:.0f} "
            "of loss.backward(), which needs the most memory"
        )
    return _not_restarted(rows, backward[0])


def _not_restarted(rows: Sequence[Row], highest: float) -> str:
    """Say which line has the peak of loss.backward(), although little is left after it; or nothing."""
    same = [row["code"] for row in rows if row["peak_bytes"] == highest]
    if len(same) < 2:
        return ""
    return f"the lines '{same[0][:60]}' and '{same[1][:60]}' have one peak, as without restart()"


# --- words of failures, and what to try ---

REPORTED = {
    "Ordered by": "it is no report of pstats that is sorted by cumulative time",
    "are needed": "it is not the whole report",
    "rises": "its rows are not in the order of cumulative time",
    "no row of": "it is the report of another program",
}

ALL, SOME, TIES = "8 functions, count=20", "12 functions, count=5", "equal seconds"
RANKED = {
    f"{ALL}, number of entries": (
        "each key of stats must have one row: get_stats_profile() merges functions of one name",
        "make the rows of pstats.Stats(file).stats",
    ),
    "number of entries": ("`count` rows at most may be returned", "sort, then [:count]"),
    "calls": (
        "calls must count recursive calls, too: the second number of an entry, not the first",
        "_, calls, own, total, _ = stats[key]",
    ),
    "own_share": (
        "own_share must be own_seconds over the own seconds of all functions of the file",
        "add up the own seconds of all entries of stats, and divide by this sum",
    ),
    TIES: (
        "rows with equal seconds must be in the order of their names, with file and line",
        "sort by (-seconds, function), where function is pstats.func_std_string(key)",
    ),
    "function": (
        "rows must be named as pstats prints them, with file and line, most seconds first",
        "function is pstats.func_std_string(key), without strip_dirs(); sort by -seconds",
    ),
    "": (
        "times must be those of the file, not rounded: get_stats_profile() rounds them",
        "take them from pstats.Stats(file).stats",
    ),
}

LONGEST = "your total is the time of the longest function, but the file may have several programs"
CUMULATIVE = "your total adds up `seconds`, which count what a function calls once more"
TOTAL = "add up the own_seconds of all functions"
ALL_ROWS = "look the function up in all rows of the file, not in the first 20"
GAINED = {
    "infinity": (
        "an infinite factor must leave nothing of the function's seconds",
        "1 / math.inf is 0.0, so infinity needs no branch of its own",
    ),
    "last of 30": (
        "the file has 30 functions, and your code looks at fewer",
        ALL_ROWS,
    ),
    "": (
        "the new time must be total - seconds * (1 - 1 / factor), with the total of own seconds",
        (
            "fix ranks_by_total_time first if it fails; else "
            "put seconds and factor into this formula, and divide total by the new time"
        ),
    ),
}

TWO = "12 x 12 pixels of two values, size=12"
KEPT = "12 x 12 pixels, size=12"
IMAGES = {
    TWO: "usually the minimum and maximum are not those of the whole image, over all three channels",
    KEPT: "an image of two values is right: usually the gamma is not 2.2, or is left out",
    "one value": (
        "if all numbers of an image are equal, max - min is 0: the result must be 0, and not NaN",
        "keep the branch of given.preprocess for such an image",
    ),
    "flipped": (
        "an array may have negative strides, and torch takes none",
        "copy the array before it becomes a tensor",
    ),
    "read-only": ("an array may be read-only", "work on a copy of it"),
    "images is 0": (
        "no images must give a batch as well",
        "begin with torch.zeros(len(images), 3, size, size), as torch.stack needs a tensor",
    ),
    "": "an image that keeps its size is right: usually the resize is not bilinear with antialias",
}

BYTES = {
    "result": (
        "the first of the two results must be what the function returned",
        "keep what the call returns, and return it beside the rows",
    ),
    "number of entries": (
        "each line that ran must have one row, and lines of other functions must have none",
        "trace the frame of the function itself and no other: compare code objects, not names",
    ),
    "hits": ("hits must count each round of a loop", "add 1 at each line event"),
    ", line": (
        "line must be the number in the file, and rows must be in this order",
        "take frame.f_lineno as it is, and sort the rows by line",
    ),
    "": (
        "a line's row must have the bytes alive after the line minus before, over all hits",
        (
            "at the next line or return event of the function itself, read Allocations.live, "
            "and add to the row of the line that ended"
        ),
    ),
}

TRACED = {
    "exception, what": (
        "an exception that the function raises must reach the caller",
        "try and finally, without except",
    ),
    "exception": (
        "after an exception the caller's trace function is not in place again",
        "sys.settrace(before) in finally",
    ),
    "": (
        "the caller's trace function is not in place again after the call",
        "keep sys.gettrace() before the call, and set it again in finally",
    ),
}
