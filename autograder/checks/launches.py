"""Judges counts of launches, and a table of nets that says how many each launches and how long it takes.

A row has net, launches, ms, speedup and device. Each judge says what is wrong in one sentence, or nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from autograder.checks import table, timing
from autograder.checks.forms import DEVICE, Form, count, positive, words
from autograder.checks.numerics import explained, shown

RESULTS = Form(
    "kernel_results.csv",
    (
        words("net", "its name in `nets`"),
        count("launches", "of one call, counted in a trace of it"),
        positive("ms", "median of the calls, after a warm-up", "ms"),
        positive("speedup", "`ms` of the first net / `ms`", "x"),
        DEVICE,
    ),
)

FIRST = 4  # launches more in the first call of a scripted net
WATCHED = "the profiler ran, or gradients were recorded"

Row = Mapping[str, Any]
Seen = Mapping[str, Any]
Counts = Mapping[str, float | None]


def miscounted(seen: Counts, right: Mapping[str, int]) -> tuple[str, str]:
    """Say how counts by name are not the right ones, and why; or nothing."""
    odd = sorted(name for name in {*seen, *right} if seen.get(name, 0) != right.get(name, 0))
    if not odd:
        return "", ""
    count, expected = seen.get(odd[0], 0) or 0, right.get(odd[0], 0)
    at = f"{odd[0]} is counted {shown(count)} times, and {expected} times is right"
    total = sum(count or 0 for count in seen.values())
    return f"{shown(total)} launches where there are {sum(right.values())}; {at}", _why(
        odd[0], count - expected
    )


def _why(name: str, more: float) -> str:
    if more < 0:
        return "a launch is left out: it begins as another one ends, or lies inside an operator of another thread"
    if name.startswith(("Mem", "cuda")):
        return "a copy, or a call of the host, is no kernel"
    if name.startswith("aten::"):
        return "it is called by another operator, or only looks at memory; where there are kernels, only they count"
    return "it is a range around launches, and none itself"


def row_problem(rows: Sequence[Row], names: Sequence[str] | None = None) -> str:
    """Say what is wrong with the form of rows, or how they contradict themselves."""
    if wrong := RESULTS.problem(rows, names):
        return wrong
    for row in rows:
        ratio = rows[0]["ms"] / row["ms"]
        if not table.alike(row["speedup"], ratio):
            told = f"speedup of {row['net']} is {row['speedup']:.4g}"
            return f"{told}, but ms of {rows[0]['net']} / its own is {ratio:.4g}"
    return ""


def unlike(rows: Sequence[Row], known: Mapping[str, Any], own: Sequence[float | None]) -> str:
    """Say how rows differ from scripted nets: *known* has launches, seconds, repeats and the device.

    Launches may be what the student's *own* function counts, which is judged by itself.
    """
    counts = [*own, *[None] * len(rows)]  # of rows that were answered in the student's place
    for row, launches, seconds, own_count in zip(
        rows, known["launches"], known["seconds"], counts, strict=False
    ):
        if row["launches"] not in (launches, own_count):
            told = (
                f"launches of {row['net']} is {shown(row['launches'])}, "
                f"and it asks for {launches} operators in a call"
            )
            first = "the first call was recorded, which launches more: warm up before"
            stories = [
                (launches + FIRST, first),
                *((n * launches, "several calls were recorded") for n in (2, 3, 4)),
            ]
            why = explained(row["launches"], stories, 0.0)
            return f"{told}: {why}" if why else told
        wrong = timing.median_problem(row["net"], row["ms"], seconds, known["repeats"], WATCHED)
        if wrong:
            return wrong
        if row["device"].strip() != known["device"].strip():
            return (
                f"the device is called {row['device'][:60]!r}, and its name is {known['device']!r}"
            )
    return ""
