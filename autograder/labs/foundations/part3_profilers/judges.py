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


# --- words of failures, and what to try ---------------------------------------------

RANKED = {
    "number of entries": (
        "each function has one row, and at most count rows are returned",
        "go through all of stats and cut with [:count]; get_stats_profile() merges functions of one name",
    ),
    "calls": (
        "recursive calls count, too: calls is the second number of an entry, not the first",
        "_, calls, own, total, _ = stats[key]",
    ),
    "own_share": (
        "own_share is own_seconds over the own seconds of all functions of the file",
        "divide by the sum of own seconds of all functions, taken before you cut with [:count]",
    ),
    "equal seconds": (
        "rows with equal seconds are in the order of their names",
        "sort by (-seconds, function), and name it by pstats.func_std_string(key)",
    ),
    "function": (
        "the row with the most seconds comes first, or a name is not as pstats prints it, with file and line",
        "pstats.func_std_string(key), for the keys as they are, without strip_dirs()",
    ),
    "": (
        "a row is not the entry of the file: get_stats_profile() rounds times, and merges functions of one name",
        "pstats.Stats(file).stats",
    ),
}

GAINED = {
    "infinity": (
        "of an infinite factor nothing is left: 1 / factor is 0",
        "1 / math.inf is 0.0, so infinity needs no branch of its own",
    ),
    "last of 30": (
        "the file has more functions than the 20 that a report shows",
        "look the function up in all rows",
    ),
    "": (
        "the new time is total - seconds * (1 - 1 / factor): seconds with what is called, total the sum of own seconds",
        "put seconds and factor into this formula, and divide total by the new time",
    ),
}

IMAGES = {
    "grey": (
        "if all numbers of an image are equal, max - min is 0: the result must be 0, and not NaN",
        "keep the branch of given.preprocess for such an image",
    ),
    "flipped": (
        "an array may have negative strides, and torch takes none",
        "copy the array before it becomes a tensor",
    ),
    "read-only": ("an array may be read-only", "work on a copy of it"),
    "images is 0": (
        "a batch without images has a result as well",
        "torch.stack needs at least one tensor",
    ),
    "": (
        (
            "each image gets gamma 2.2, is scaled to 0 ... 1 over the whole image, and is then "
            "resized: bilinear with antialias"
        ),
        "begin with a copy of given.preprocess, and change only the slow line",
    ),
}

BYTES = {
    "result": (
        "the first of the two results is what the function returned",
        "keep what the call returns, and return it beside the rows",
    ),
    "number of entries": (
        "each line that ran has one row; another function has none, also where it has the same name",
        "trace the frame of the function itself and no other: compare code objects, not names",
    ),
    "hits": ("a line of a loop runs more than once", "add 1 at each line event"),
    ", line": ("rows are in the order of the lines", "sort the rows by line"),
    "": (
        (
            "a line has the bytes that are alive after it, minus those before it, over all hits. "
            "Views and writes in place add nothing, del frees, a helper's tensors belong to the line "
            "that calls it, and backward frees about as much as it makes"
        ),
        "close a line at the next line or return event, and read Allocations.live",
    ),
}
