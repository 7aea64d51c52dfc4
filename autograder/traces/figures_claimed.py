"""A number in a report against what the profile says.

It meets a definition, or looks like a mistake. One trace honestly gives 54.9 to 60.6 % "GPU
utilization", so a claim is compared with a set of definitions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

from autograder.traces.definitions import DEFINITIONS
from autograder.traces.record import Figure, Trace, Unit
from autograder.traces.words import NAME, NAMESPACES, shortened, shown, titled

Verdict = Literal["exact", "accepted", "mistake", "apart", "unknown", "unverifiable"]
Window = Literal["steps", "gpu", "trace", "kernel", ""]


@dataclass(frozen=True)
class Quantity:
    """What a handout asks for, and the definitions that answer it, the handout's own first."""

    said: str
    unit: Unit
    accepted: tuple[tuple[str, Window], ...]
    shares: bool = False
    """Whether the share of a table's row is what people take for it."""


QUANTITIES: Mapping[str, Quantity] = {
    "gpu_utilization": Quantity(
        "GPU utilization",
        "%",
        tuple(product(("busy_kernel", "busy_any", "est_sm_efficiency"), ("steps", "gpu", "trace"))),
        shares=True,
    ),
    "data_loading": Quantity("share of data loading", "%", (("dataloader", "steps"),)),
    "operator_share": Quantity(
        "share of operators on the CPU", "%", (("op_busy", "steps"), ("op_busy", "trace"))
    ),
    "h2d_time": Quantity("time of copies to the GPU", "ns", (("h2d_time", ""), ("h2d_sum", ""))),
    "h2d_bytes": Quantity("bytes copied to the GPU", "bytes", (("h2d_bytes", ""),)),
    "copy_overlap": Quantity("overlap of copies with kernels", "%", (("h2d_overlap", ""),)),
    "comm_overlap": Quantity(
        "overlap of communication", "%", (("comm_overlap", ""), ("cpu_comm_overlap", ""))
    ),
    "kernel_count": Quantity(
        "number of kernels", "count", (("kernel_count", ""), ("launch_count", ""))
    ),
    "kernel_mean": Quantity("mean kernel time", "ns", (("kernel_mean", ""), ("kernel_median", ""))),
    "gaps": Quantity("number of gaps over 1 ms", "count", (("gaps_over_1ms", ""),)),
    "small_kernels": Quantity("share of kernels under 10 us", "%", (("kernels_under_10us", ""),)),
    "operator_gaps": Quantity(
        "number of gaps between operators over 1 ms", "count", (("op_gaps_over_1ms", ""),)
    ),
    "small_operators": Quantity("share of operators under 10 us", "%", (("ops_under_10us", ""),)),
    "operator_mean": Quantity("mean operator time", "ns", (("op_mean", ""),)),
    "host_busy": Quantity("share in which the CPU was busy", "%", (("host_busy", "steps"),)),
    "longest_wait": Quantity(
        "longest wait for the loader", "ns", (("dataloader_longest", "steps"),)
    ),
    "step_time": Quantity("time of a step", "ns", (("step_median", "steps"),)),
    "sm_throughput": Quantity("SM throughput", "%", (("sm_throughput", "kernel"),)),
    "memory_throughput": Quantity(
        "memory throughput", "%", (("memory_throughput", "kernel"), ("dram_throughput", "kernel"))
    ),
    "occupancy": Quantity(
        "achieved occupancy", "%", (("achieved_occupancy", "kernel"), ("est_occupancy", ""))
    ),
}
POINTS = 2.0
"""Percentage points that a share may be off."""
RELATIVE = 0.03
ANOTHER_UNIT = "the profile's, so it is in another unit"
SLIPS = {
    1e-3: f"a thousandth of {ANOTHER_UNIT}",
    1e3: f"1000 times {ANOTHER_UNIT}",
    1e-6: f"a millionth of {ANOTHER_UNIT}",
    1e6: f"a million times {ANOTHER_UNIT}",
    10.0: "ten times the profile's",
    0.1: "a tenth of the profile's",
}
LISTED = 5.0
"""Percent; smaller shares meet a number by chance."""
FRACTION = "that is the fraction, and it must be in percent"
SAMPLED = 5.0
"""Percentage points below the kernels' share that a sampled counter may show."""
DEFINED = "no accepted definition gives that number"


@dataclass(frozen=True)
class Finding:
    """What became of a claim."""

    verdict: Verdict
    words: str
    """Both numbers, or the one that could be compared."""
    why: str = ""
    definition: str = ""

    @property
    def holds(self) -> bool:
        """Whether the profile bears it out, or nothing could."""
        return self.verdict in ("exact", "accepted", "unverifiable")


def compare(trace: Trace, quantity: str, value: float, subject: str = "") -> Finding:
    """Compare a value, in the quantity's unit, with every accepted definition.

    *subject* narrows to a kernel.
    """
    if quantity == "nvidia_smi":
        return _sampled(trace, value)
    expected = QUANTITIES[quantity]
    figures = [figure for figure in accepted(trace, quantity) if subject in figure.subject]
    given = f"{expected.said} is given as {shown(value, expected.unit)}"
    if not figures:
        return Finding("unknown", given, _missing(trace))
    fitting = [figure for figure in figures if close(value, figure.value, expected.unit)]
    if fitting:
        own = [figure for figure in fitting if _key(figure) == _key(figures[0])]
        best = min(own or fitting, key=lambda figure: abs(value - figure.value))
        words = f"{given}; the profile says {shown(best.value, best.unit)} ({titled(best)})"
        return Finding("exact" if own else "accepted", words, definition=titled(best))
    both = f"{given}; the profile says {_all(figures)}"
    slip = _mistake(trace, expected, value, figures)
    if slip:
        return Finding("mistake", both, slip)
    return Finding("apart", both, f"{DEFINED}: {_meaning(figures[0])}")


def close(value: float, other: float, unit: Unit) -> bool:
    """Whether two numbers are the same for a report.

    3 %, and for shares at least 2 points.
    """
    return abs(value - other) <= max(RELATIVE * abs(other), POINTS if unit == "%" else 0.5)


def _key(figure: Figure) -> tuple[str, str]:
    return figure.id, figure.window


def accepted(trace: Trace, quantity: str) -> Iterator[Figure]:
    """Yield the figures of a profile that answer for a quantity, the handout's own definition
    first.
    """
    for name, window in QUANTITIES[quantity].accepted:
        for figure in trace.figures:
            if figure.id == name and window in ("", figure.window):
                yield figure


def _all(figures: Sequence[Figure]) -> str:
    values = [figure.value for figure in figures]
    unit = figures[0].unit
    low = shown(min(values), unit)
    high = shown(max(values), unit)
    first = f"{shown(values[0], unit)} ({titled(figures[0])})"
    return first if low == high else f"{first}; other accepted definitions give {low} to {high}"


def _meaning(figure: Figure) -> str:
    return f"`{figure.id}` of perflab trace is the {DEFINITIONS[figure.id].removeprefix('the ')}"


def _missing(trace: Trace) -> str:
    reason = f": {trace.notes[0]}" if trace.notes else ""
    if trace.figures:
        return f"it cannot be recomputed from {trace.file}{reason}"
    return f"{trace.file} has no figures{reason}"


def _mistake(
    trace: Trace,
    expected: Quantity,
    value: float,
    figures: Sequence[Figure],
) -> str:
    """Name the usual slip that turns a figure of the profile into this value."""
    if expected.unit == "%":
        return _share_mistake(trace, expected, value, figures)
    for factor, words in SLIPS.items():
        for figure in figures:
            slip = factor * figure.value
            if figure.value and abs(value - slip) <= RELATIVE * slip:
                return f"your number is {words}"
    return ""


def _share_mistake(
    trace: Trace,
    expected: Quantity,
    value: float,
    figures: Sequence[Figure],
) -> str:
    for figure in figures:
        if 0 < value <= 1 and close(100 * value, figure.value, "%"):
            return FRACTION
        if close(100 - value, figure.value, "%"):
            return f"your number is near 100 % - {shown(figure.value, '%')}: usually the rest, and not the share"
    return _row_mistake(trace, value) if expected.shares else ""


def _row_mistake(trace: Trace, value: float) -> str:
    for table, rows in trace.tables.items():
        names = shortened([row.name for row in rows], NAME)
        for row, name in zip(rows, names, strict=True):
            # Tools print one decimal.
            if row.share >= LISTED and abs(value - row.share) <= 0.06:
                return f"that is the share of '{name}' among the {table} listed, not a utilization"
    return ""


def _sampled(trace: Trace, value: float) -> Finding:
    """Judge what nvidia-smi showed.

    Samples of up to a second, which no trace can give back.
    """
    busy = trace.figure("busy_kernel")
    given = f"nvidia-smi is said to have shown {shown(value, '%')}"
    if busy is None or busy - SAMPLED <= value <= 100:
        reason = "its samples cannot be recomputed from a profile"
        return Finding("unverifiable", f"{given}; not verifiable: {reason}")
    reason = (
        "a sample counts as busy when one kernel ran in it, "
        "so it cannot be below the share of time kernels ran"
    )
    return Finding("apart", f"{given}; kernels ran {shown(busy, '%')} of the time", reason)


TIED = 0.95
"""Of the last place's time: names that close may stand in either order."""
TEMPLATE = re.compile(r"<[^<>]*>|\([^()]*\)")
NO_TABLE = "the profile holds no table that could be compared"


def compare_top(trace: Trace, named: Sequence[str]) -> Finding:
    """Compare the names of the largest with each table in turn.

    Order and template arguments do not matter.
    """
    given = f"named: {', '.join(named)}"
    different = {name if "…" in name else plain(name) for name in named}
    strangers = list(named)
    for table, rows in trace.tables.items():
        if len(different) == len(named) and len(rows) >= len(named) > 0:
            least = TIED * rows[len(named) - 1].total_ns
            leaders = [row.name for row in rows if row.total_ns >= least]
            odd = [name for name in named if not _among(leaders, name)]
            if not odd:
                return Finding("exact", f"{given}; they lead the {table}", definition=table)
            strangers = min(strangers, odd, key=len)
    largest = "; ".join(_leaders(trace, max(len(named), 1)))
    if not largest:
        return Finding("apart", given, NO_TABLE)
    reason = f"the profile's largest are {largest}"
    if 0 < len(strangers) < len(named):
        reason = f"{reason}; {strangers[0]} is none of these"
    return Finding("apart", given, reason)


def _leaders(trace: Trace, count: int) -> Iterator[str]:
    for table, rows in trace.tables.items():
        if table in ("kernels", "operators", "device operators"):
            names = shortened([row.name for row in rows[:count]], NAME)
            yield f"{table}: {', '.join(names)}"


def _among(names: Sequence[str], given: str) -> bool:
    """Whether one of these is meant, be it shortened as perflab trace prints it."""
    if "…" not in given:
        return plain(given) in map(plain, names)
    pieces = given.split("…")
    return any(
        _holds(whole, pieces) for name in names for whole in (name, NAMESPACES.sub("", name))
    )


def _holds(name: str, pieces: Sequence[str]) -> bool:
    """Whether a name begins with the first piece, and the others come in this order."""
    end = 0
    for piece in pieces:
        start = name.find(piece, end)
        if start < 0 or (end == 0 and start > 0):
            return False
        end = start + len(piece)
    return True


def plain(name: str) -> str:
    """Strip a name of template and function arguments, return types and case."""
    name = NAMESPACES.sub("", name)
    name = name.replace("(anonymous namespace)", "").replace("<unnamed>", "")
    before = ""
    while before != name:
        before = name
        name = TEMPLATE.sub("", name)
    return name.removeprefix("void ").split("<")[0].split("(")[0].strip().lower()
