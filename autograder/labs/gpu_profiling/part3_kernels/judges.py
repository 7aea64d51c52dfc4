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

Counts = Mapping[str, float | None]


def miscounted(reported: Counts, right: Mapping[str, int]) -> tuple[str, str]:
    """Say how counts by name are not the right ones, and why; or nothing."""
    names = {*reported, *right}
    odd = [name for name in names if reported.get(name, 0) != right.get(name, 0)]
    if not odd:
        return "", ""
    name = min(odd, key=lambda it: ((reported.get(it, 0) or 0) >= right.get(it, 0), it))
    count, expected = reported.get(name, 0) or 0, right.get(name, 0)
    at = f"{name} is counted {shown(count)} times; expected {expected}"
    total = sum(count or 0 for count in reported.values())
    measured = f"{shown(total)} launches where there are {sum(right.values())}; {at}"
    if count < expected and "fused" in name:
        wrote = [it for it in right if "fused" in it]
        found = sum(it not in odd for it in wrote)
        return measured, f"your code counts {found} of {len(wrote)} kernels that the compiler wrote"
    return measured, _reason(name, count - expected, *right)


def _reason(name: str, more: float, *launched: str) -> str:
    operator = name.startswith("aten::")
    if more < 0 and operator:
        return "operators are left out: usually one of another thread is taken for the caller"
    if more < 0:
        return "events of category kernel are left out"
    if name.startswith(("Mem", "cuda")):
        return "your code counts copies, or calls such as cudaLaunchKernel, which are no kernels"
    counts = f"your code counts {name}"
    if not operator:
        return f"{counts}, a range around launches"
    if not any("::" in it or "fused" in it for it in launched):
        return f"{counts}, an operator of the host, although the trace has kernels"
    inside = ", no kernel of the compiler's" if "fused" in name else " inside another operator"
    return f"{counts}{', which launches nothing' if name in NO_WORK else inside}"


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
            (launches + FIRST, "your code records the first call, which launches more"),
            *((n * launches, "your code records several calls") for n in (2, 3, 4)),
        ]
        counted = f"your count_launches finds {shown(own_count)} in a trace of one call"
        counted *= own_count is not None
        problem = RESULTS.mismatch(row, "launches", launches, 0.0, slips, counted)
        if problem and row["launches"] != own_count:
            return problem
        problem = median_problem(RESULTS, row, "ms", seconds, script["repeats"], calls=calls)
        if problem:
            return problem
    return table.other_device(rows, script["device"])
