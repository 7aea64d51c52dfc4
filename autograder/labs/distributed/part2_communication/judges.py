"""Judges of part 2: what a process says of its steps, beside the script of its clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from autograder.checks.numerics import close, explained, shown
from autograder.checks.table_form import DEVICE, Form, Row, count, positive
from autograder.labs.distributed.part2_communication.stories import times

LINK = Form(
    "allreduce_times.csv",
    (
        count("bytes", "size of the tensor"),
        positive("ms", "median of the calls, of the slowest rank", "ms"),
        positive("bus_gb_s", "2 (n - 1) / n x `bytes` / time, with n processes", "GB/s"),
        DEVICE,
    ),
)
WITHIN = 2e-3  # relative: each reading of the clock takes a microsecond
POINTS = 0.3  # of a percentage
LEAST, SPAN = 4, 256  # sizes handed in, and how many times as large the largest is
MOST = 1024  # processes
Case = Mapping[str, Any]


def figure_problem(own: Case, expected: Case, names: Sequence[str]) -> tuple[str, str]:
    """Return what was measured and why it is wrong, of the first of these figures that is."""
    measured = ""
    for name in names:
        right = expected["ranks"][0]["figures"][name]
        both = [rank["figures"].get(name) for rank in own["ranks"]]
        measured = " and ".join(shown(it) for it in both)
        measured = f"{name} is {measured} in ranks 0 and 1; expected {right:.5g}"
        wrong = [it for it in both if not _is(name, it, right)]
        if wrong:
            slips = [(it, words) for words, it in expected["slips"].get(name, {}).items()]
            why = explained(wrong[0], slips, WITHIN) if isinstance(wrong[0], float) else ""
            return measured, why or _otherwise(name, both)
    return measured, ""


def _is(name: str, value: Any, right: float) -> bool:
    if not isinstance(value, float):
        return False
    if name.endswith("percent"):
        return abs(value - right) <= POINTS
    return close(value, right, WITHIN)


def _otherwise(name: str, both: Sequence[Any]) -> str:
    if not all(isinstance(it, float) for it in both):
        return "each figure must be a number"
    if both[0] != both[1]:
        return "the ranks return different numbers: each returns its own"
    formulas = {
        "exposed_ms": "it is step_ms - compute_ms",
        "exposed_percent": "it is 100 * exposed_ms / step_ms",
        "hidden_percent": "it is 100 * (1 - exposed_ms / total_ms)",
        "total_ms": "it is the time of all buckets, each reduced alone, one at a time",
        "compute_ms": "it is the time of forward and backward within no_sync()",
    }
    return formulas.get(name, "it is the time of forward and backward with synchronisation")


def never_alone(own: Case) -> str:
    """Say that no step was without collectives, or nothing."""
    passes = own["ranks"][0]["passes"]
    if not passes or not all(passes):
        return ""
    return f"{passes[-1]} collectives in a step that should have none"


def count_problem(own: Case, expected: Case) -> tuple[str, str]:
    """Say how the collectives of a step were counted wrongly."""
    right = expected["ranks"][0]["figures"]
    for rank, each in enumerate(own["ranks"]):
        calls, size = each["figures"].get("collectives"), each["figures"].get("bytes")
        whole = f"{size:.0f}" if isinstance(size, float) else shown(size)
        measured = f"rank {rank}: {shown(calls)} collectives and {whole} bytes in a step"
        asked = f"expected {right['collectives']:g} and {right['bytes']:.0f}"
        if calls == 1:
            why = "DDP makes its final buckets after the first step: count after the warm-up"
            return f"{measured}; {asked}", why
        if (calls, size) != (right["collectives"], right["bytes"]):
            why = "collectives of one synchronised step count, and no others"
            return f"{measured}; {asked}", why
    return measured, ""


def state_problem(own: Case) -> tuple[str, str]:
    """Say how a model was not left as it was."""
    first, second = own["ranks"]
    if first["end"] != second["end"]:
        return (
            "the ranks' weights differ",
            "unsynchronised gradients were applied: nothing is stepped",
        )
    if first["end"] != first["start"]:
        return "the weights have changed", "a measurement takes no optimizer step"
    for rank, each in enumerate(own["ranks"]):
        if each["gradients"]:
            measured = f"rank {rank}: {each['gradients']} parameters have a gradient"
            return measured, "the next backward pass would add to these"
    return "weights as before, no gradients", ""


def link_problem(ranks: Sequence[Sequence[Row]], script: Mapping[str, Any]) -> str:
    """Say how rows are not what the script of the link gives."""
    for rank, rows in enumerate(ranks):
        if problem := LINK.shape_problem(rows, script["sizes"]):
            return f"rank {rank}: {problem}"
        for row, ms in zip(rows, script["ms"], strict=True):
            problem = LINK.mismatch(row, "ms", ms, WITHIN, _slips(times(ms, script["pattern"])))
            problem = problem or _bus_problem(row, row["bytes"] / ms / 1e6)
            if problem:
                return f"rank {rank}: {problem}"
        if rows[0]["device"] != script["device"]:
            return f"device is {rows[0]['device']!r}; given.device_name says {script['device']!r}"
    return ""


def _slips(usual: Mapping[str, float]) -> list[tuple[float, str]]:
    return [(number, words) for words, number in usual.items()]


def _bus_problem(row: Row, expected: float) -> str:
    """Two processes: each sends as many bytes as the tensor has."""
    slips = [
        (2 * expected, "2 (n - 1) / n is 1 with two processes"),
        (8 * expected, "it is in Gbit/s"),
        (expected / 1.073741824, "it is in GiB/s"),
        (1000 * expected, "it is in MB/s"),
    ]
    return LINK.mismatch(row, "bus_gb_s", expected, WITHIN, slips)


def table_problem(rows: Sequence[Row]) -> str:
    """Say how the rows handed in do not fit each other."""
    sizes = [row["bytes"] for row in rows]
    if len(rows) < LEAST or sizes != sorted(set(sizes)) or sizes[-1] < SPAN * sizes[0]:
        return f"{LEAST} sizes or more are expected, rising, the largest {SPAN} times the smallest"
    if rows[-1]["ms"] <= rows[0]["ms"]:
        return "the largest size takes no longer than the smallest"
    for row in rows:
        factor = row["bus_gb_s"] * row["ms"] * 1e6 / row["bytes"]
        right = any(close(factor, 2 * (n - 1) / n, 0.01) for n in range(2, MOST))
        if not right:
            return f"bus_gb_s of {row['bytes']:g} bytes is {factor:.4g} x bytes / time"
    return ""


def first_problem(
    own: Sequence[Case],
    expected: Sequence[Case],
    problem: Callable[[Case, Case], tuple[str, str]],
) -> tuple[str, str]:
    """Return what was measured, and what is wrong in the first training where something is."""
    measured = ""
    for each, right in zip(own, expected, strict=True):
        measured, why = problem(each, right)
        if why:
            return measured, why
    return measured, ""
