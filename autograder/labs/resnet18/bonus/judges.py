"""Judges what the bonus measures: plans of memory, profiles, a table of CPU options, samples divided among processes.

A problem is one sentence, or nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice, product
from typing import Any

from autograder.checks.numerics import close, shown
from autograder.checks.table_form import DEVICE, Form, Row, count, positive, ratio, words
from autograder.model import Failed, Pair, Passed, Verdict
from autograder.traces.words import many

FAINT = 1e-3  # of the seconds is none of them: what the code itself takes on a real clock
OTHER_CLOCK = (
    "nothing was counted, or the clock is not time.perf_counter: "
    "use cProfile.Profile(time.perf_counter)"
)

OPTIONS = ("plain", "channels_last", "bfloat16")
CPU = Form(
    "cpu_study.csv",
    (
        words("option", "each option with each number of threads, in the order given"),
        count("threads", "that torch used"),
        positive("ms", "median of the seven calls", "ms"),
        ratio("speedup", "first ms", "ms"),
        DEVICE,
    ),
    keys=2,
)
PACE = 0.02  # relative
SECONDS = 0.005  # relative: reading the scripted clock takes a microsecond
OTHER_THREADS = "the step ran before with a different number of threads"
PROCESS_TIME = "time.process_time() adds up over threads"
USED = 2.5  # times as long takes a scripted step that ran with another number of threads before
BYTES = ("parameters", "buffers", "gradients", "optimizer", "activations", "batch")
PLANNED = (("resnet18", 32), ("resnet50", 32), ("resnet50", 128))
PLANS = Form(
    "memory_plan.csv",
    (
        words("model", "with ten classes, at 224 pixels: resnet18, resnet50, resnet50"),
        count("batch_size", "images: 32, 32, 128"),
        *(
            count(name, about, least=0)
            for name, about in {
                "parameters": "bytes",
                "buffers": "bytes",
                "gradients": "bytes after a backward pass",
                "optimizer": "bytes of its state after a step",
                "activations": "bytes kept for the backward pass, and counted nowhere else",
                "batch": "bytes of images and labels",
                "total": "the sum of the six before",
                "largest_batch": "images whose total is at most 16,000,000,000 bytes",
            }.items()
        ),
    ),
    rows=PLANNED,
    keys=2,
)
BUDGET = 16_000_000_000  # bytes
PIXELS = 3 * 224 * 224
WHOLE = {
    "batch_size": "must be",
    "total": "the six kinds add up to",
    "parameters": "with ten classes they take",
    "batch": "images in float32 and their labels take",
}
PARAMETERS = {
    "resnet18": 11_181_642 * 4,
    "resnet50": 23_528_522 * 4,
}  # bytes in float32, with ten classes


# --- plans of memory --------------------------------------------------------------------------------------------------


def plan_problem(rows: Sequence[Row]) -> str:
    """Say how plans in the right form do not add up, or not to known numbers."""
    for row, (name, batch) in zip(rows, PLANNED, strict=True):
        expected = {
            "batch_size": batch,
            "total": sum(row[kind] for kind in BYTES),
            "parameters": PARAMETERS[name],
            "batch": batch * (4 * PIXELS + 8),
        }
        for column, value in expected.items():
            if row[column] != value:
                return f"{column} of {name} is {row[column]:,.0f}, but {WHOLE[column]} {value:,.0f}"
    return _growth_problem(rows[1], rows[2])


def _growth_problem(small: Row, large: Row) -> str:
    """Say where two plans of one network and the largest batch do not fit each other."""
    each, rest = divmod(large["total"] - small["total"], large["batch_size"] - small["batch_size"])
    if rest or each <= 0:
        return "from 32 to 128 images of resnet50, each image does not add the same number of bytes"
    fits = (BUDGET - (small["total"] - small["batch_size"] * each)) // each
    if small["largest_batch"] == large["largest_batch"] == fits:
        return ""
    largest = f"largest_batch of resnet50 is {shown(small['largest_batch'])}"
    return f"{largest}, but by its two plans {fits:g} images fit into 16 GB"


# --- profilers --------------------------------------------------------------------------------------------------------


def same_profile(
    profiled: Pair, key: str, figures: Sequence[str], ordered: str, *, try_: str
) -> Verdict:
    """Pass rows of a profile that say what the program is known to do; others may be among them."""
    rows, expected = profiled.student.values["rows"], profiled.baseline.values["rows"]
    if profiled.student.values["result"] != profiled.baseline.values["result"]:
        why = "it must return a pair: the function's result, and the rows"
        return Failed("the result is missing or different", why, try_)
    for right in expected:
        where = f"{key} {right[key]}"
        named = [row for row in rows if row.get(key) == right[key]]
        if len(named) != 1:
            count = many(len(named), "row")
            return Failed(f"{count} for {where}", f"expected one row for each {key}", try_)
        if "text" in right:
            where += f" of the grader's program, `{right['text']}`"
        for figure in [figure for figure in figures if figure in right]:
            value = named[0].get(figure)
            if not (isinstance(value, float | int) and alike(value, right[figure])):
                measured = f"{where}: {figure} {shown(value)}, expected {right[figure]:.4g}"
                return Failed(measured, _profile_reason(figure, value, right), try_)
    keys = [right[key] for right in expected]
    order = [row[ordered] for row in rows if row.get(key) in keys]
    if order == sorted(order, reverse=ordered != key):
        return Passed(f"{len(expected)} rows, on a clock that the grader moves")
    measured = f"{ordered}: {listed(order)}"
    return Failed(measured, "the rows are in the wrong order", f"sort by {ordered}")


def alike(value: float, expected: float) -> bool:
    """Whether seconds or counts agree."""
    return close(value, expected, SECONDS) if isinstance(expected, float) else value == expected


def listed(values: Iterable[float]) -> str:
    """Write a few numbers."""
    return ", ".join(f"{value:.4g}" for value in islice(values, 6)) or "nothing"


def _profile_reason(figure: str, reported: Any, row: Row) -> str:
    """Recognise which figure stands in another's place."""
    others = [
        name for name, value in row.items() if name != figure and isinstance(value, float | int)
    ]
    if not isinstance(reported, float | int):
        return "it must be a number"
    if swapped := next((name for name in others if close(reported, row[name], 1e-3)), ""):
        return f"that is its {swapped}"
    if "seconds" in figure and reported < FAINT * row[figure]:
        return OTHER_CLOCK
    if "calls" in row and "seconds" not in row:
        return (
            "the function calls itself, and each of its calls counts; "
            "pstats has primitive calls first, then all calls"
        )
    if "hits" in row:
        return (
            "a line lasts until the next line begins or the function ends, "
            "with the functions that it calls"
        )
    return "calls or time are missing, or those of another function are counted too"


# --- the CPU ----------------------------------------------------------------------------------------------------------


def options_problem(rows: Sequence[Row]) -> str:
    """Say that a file has not each option with each of its numbers of threads, in their order."""
    pairs = [(row["option"], row["threads"]) for row in rows]
    counts = list(dict.fromkeys(count for _, count in pairs))
    if pairs == list(product(OPTIONS, counts)):
        return ""
    return (
        f"the rows are {len(pairs)} pairs of option and threads, "
        "but must be each option with each number of threads, in order"
    )


def time_problem(rows: Sequence[Row], expected: Sequence[float]) -> str:
    """Say how milliseconds differ from what a scripted clock showed."""
    for row, ms in zip(rows, expected, strict=True):
        usual = [
            (ms * 11.6 / 7, "the mean, which one slow call decides: take the median"),
            (ms * 0.6, "the fastest call: take the median"),
            (ms / 1000, "in seconds"),
            (ms * USED, f"{OTHER_THREADS}: make a fresh one for each row"),
            (ms * row["threads"], f"{PROCESS_TIME}: take time.perf_counter()"),
        ]
        if wrong := CPU.mismatch(row, "ms", ms, PACE, usual, _otherwise(row["ms"], ms)):
            return wrong
    return ""


def _otherwise(value: float, ms: float) -> str:
    if value >= 50 * ms:
        return "torch had a different number of threads"
    return "the first call was counted, not seven were timed, or the number of threads was wrong"
