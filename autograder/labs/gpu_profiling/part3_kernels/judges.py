"""Judges counts of launches, and a table of nets that says how many each launches and how long it takes.

A row has net, launches, ms, speedup and device. Each judge says what is wrong in one sentence, or nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from autograder.checks import table
from autograder.checks.numerics import shown
from autograder.checks.slips import counts, median_problem
from autograder.checks.table_form import DEVICE, Form, Row, count, positive, ratio, words
from autograder.checks.tiles import NO_WORK

RESULTS = Form(
    "kernel_results.csv",
    (
        words("net", "its name in `nets`"),
        count("launches", "of one call, counted in a trace of it"),
        positive("ms", "median of the calls, after a warm-up", "ms"),
        ratio("speedup", "first ms", "ms"),
        DEVICE,
    ),
)

FIRST = 4  # launches more in the first call of a scripted net

CALLED = "it is called by another operator, or only looks at memory; where there are kernels, only they count"
Counts = Mapping[str, float | None]


def miscounted(reported: Counts, right: Mapping[str, int]) -> tuple[str, str]:
    """Say how counts by name are not the right ones, and why; or nothing."""
    names = {*reported, *right}
    odd = sorted(name for name in names if reported.get(name, 0) != right.get(name, 0))
    if not odd:
        return "", ""
    name = odd[0]
    count, expected = reported.get(name, 0) or 0, right.get(name, 0)
    at = f"{name} is counted {shown(count)} times, and {expected} times is right"
    total = sum(count or 0 for count in reported.values())
    measured = f"{shown(total)} launches where there are {sum(right.values())}; {at}"
    return measured, _reason(name, count - expected)


def _reason(name: str, more: float) -> str:
    if more < 0 and name.startswith("aten::"):
        return "each call counts, even if it begins as another one ends, or if another thread is busy then"
    if more < 0 and "fused" in name:
        return "a range whose name holds 'fused' is a kernel that the compiler wrote, so it is a launch"
    if more < 0:
        return "each event of the category kernel is a launch"
    if name.startswith(("Mem", "cuda")):
        return "a copy, or a call of the host, is no kernel"
    if name.startswith("aten::"):
        idle = f"{name} only looks at memory or allocates it, so it launches nothing"
        return idle if name in NO_WORK else CALLED
    return "it is a range around launches, not a launch"


def unlike(rows: Sequence[Row], script: Mapping[str, Any], student: Mapping[str, Any]) -> str:
    """Say how rows differ from scripted nets: *script* has launches, seconds, repeats and the device.

    Launches may be what the *student*'s own function counts, which is judged by itself.
    """
    own = [*student["own"], *[None] * len(rows)]  # of rows answered in the student's place
    nets = zip(
        rows, script["launches"], script["seconds"], own, counts(student["calls"]), strict=False
    )
    for row, launches, seconds, own_count, calls in nets:
        slips = [
            (launches + FIRST, "the first call was recorded, which launches more"),
            *((n * launches, "several calls were recorded") for n in (2, 3, 4)),
        ]
        problem = RESULTS.mismatch(row, "launches", launches, 0.0, slips)
        if problem and row["launches"] != own_count:
            return problem
        problem = median_problem(RESULTS, row, "ms", seconds, script["repeats"], calls=calls)
        if problem:
            return problem
    return table.other_device(rows, script["device"])
