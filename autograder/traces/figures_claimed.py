"""A number in a report against what the profile says: which definition it meets, or which mistake it looks like.

One trace honestly gives 54.9 to 60.6 % "GPU utilization", so a claim is compared with a set of definitions.
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
POINTS = 2.0  # percentage points that a share may be off
RELATIVE = 0.03
SLIPS = {
    1e-3: "a thousandth of it: the unit is one step too small (us for ms, ms for s)",
    1e3: "a thousand times it: the unit is one step too large (ms for us, s for ms)",
    1e-6: "a millionth of it: the unit is two steps too small (us for s)",
    1e6: "a million times it: the unit is two steps too large (s for us)",
    10.0: "ten times it",
    0.1: "a tenth of it",
}
LISTED = 5.0  # percent; smaller shares meet a number by chance
FRACTION = "that is the fraction, and it must be in percent"
SAMPLED = 5.0  # percentage points below the kernels' share that a sampled counter may show


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
    """Compare a value, in the quantity's unit, with every accepted definition; *subject* narrows to a kernel."""
    if quantity == "nvidia_smi":
        return _sampled(trace, value)
    asked = QUANTITIES[quantity]
    figures = [one for one in accepted(trace, quantity) if subject in one.subject]
    said = f"{asked.said} is given as {shown(value, asked.unit)}"
    if not figures:
        return Finding("unknown", said, _missing(trace))
    fitting = [one for one in figures if close(value, one.value, asked.unit)]
    if fitting:
        own = [one for one in fitting if _key(one) == _key(figures[0])]
        best = min(own or fitting, key=lambda one: abs(value - one.value))
        words = f"{said}; the profile says {shown(best.value, best.unit)} ({titled(best)})"
        return Finding("exact" if own else "accepted", words, definition=titled(best))
    slip = _mistake(trace, asked, value, figures)
    both = f"{said}; the profile says {_all(figures)}"
    return (
        Finding("mistake", both, slip)
        if slip
        else Finding("apart", both, f"{DEFINED}: {_meaning(figures[0])}")
    )


DEFINED = "no accepted definition gives that number"


def close(value: float, other: float, unit: Unit) -> bool:
    """Whether two numbers are the same for a report: 3 %, and for shares at least 2 points."""
    return abs(value - other) <= max(RELATIVE * abs(other), POINTS if unit == "%" else 0.5)


def _key(figure: Figure) -> tuple[str, str]:
    return figure.id, figure.window


def accepted(trace: Trace, quantity: str) -> Iterator[Figure]:
    """Yield the figures of a profile that answer for a quantity, the handout's own definition first."""
    for name, window in QUANTITIES[quantity].accepted:
        yield from (one for one in trace.figures if one.id == name and window in ("", one.window))


def _all(figures: Sequence[Figure]) -> str:
    values = [one.value for one in figures]
    low, high, unit = (
        shown(min(values), figures[0].unit),
        shown(max(values), figures[0].unit),
        titled(figures[0]),
    )
    first = f"{shown(values[0], figures[0].unit)} ({unit})"
    return first if low == high else f"{first}, and {low} to {high} under other definitions"


def _meaning(figure: Figure) -> str:
    return f"{figure.id} is the {DEFINITIONS[figure.id].removeprefix('the ')}"


def _missing(trace: Trace) -> str:
    reason = f": {trace.notes[0]}" if trace.notes else ""
    return (
        f"it cannot be recomputed from {trace.file}{reason}"
        if trace.figures
        else f"{trace.file} has no figures{reason}"
    )


def _mistake(trace: Trace, asked: Quantity, value: float, figures: Sequence[Figure]) -> str:
    """Name the usual slip that turns a figure of the profile into this value."""
    if asked.unit == "%":
        return _share_mistake(trace, asked, value, figures)
    for factor, words in SLIPS.items():
        for figure in figures:
            if (
                figure.value
                and abs(value - factor * figure.value) <= RELATIVE * factor * figure.value
            ):
                return f"{shown(value, asked.unit)} is {words}"
    return ""


def _share_mistake(trace: Trace, asked: Quantity, value: float, figures: Sequence[Figure]) -> str:
    for figure in figures:
        if 0 < value <= 1 and close(100 * value, figure.value, "%"):
            return FRACTION
        if close(100 - value, figure.value, "%"):
            return f"that is 100 % less the figure: the rest of the window, not {titled(figure)}"
    for table, rows in trace.tables.items():
        for row, name in (
            zip(rows, shortened([row.name for row in rows], NAME), strict=True)
            if asked.shares
            else ()
        ):
            if row.share >= LISTED and abs(value - row.share) <= 0.06:  # tools print one decimal
                return f"that is the share of '{name}' among the {table} listed, not a utilization"
    return ""


def _sampled(trace: Trace, value: float) -> Finding:
    """Judge what nvidia-smi showed: samples of up to a second, which no trace can give back."""
    busy = trace.figure("busy_kernel")
    said = f"nvidia-smi is said to have shown {shown(value, '%')}"
    if busy is None or busy - SAMPLED <= value <= 100:
        why = "its samples cannot be recomputed from a profile"
        return Finding("unverifiable", f"{said}; not verifiable: {why}")
    why = "a sample counts as busy when one kernel ran in it, so it cannot be below the share of time kernels ran"
    return Finding("apart", f"{said}; kernels ran {shown(busy, '%')} of the time", why)


TIED = 0.95  # of the last place's time: names that close may stand in either order
TEMPLATE = re.compile(r"<[^<>]*>|\([^()]*\)")
NO_TABLE = "the profile holds no table that could be compared"


def compare_top(trace: Trace, named: Sequence[str]) -> Finding:
    """Compare the names of the largest with each table in turn; order and template arguments do not matter."""
    said = f"named: {', '.join(named)}"
    for table, rows in trace.tables.items():
        if len(rows) >= len(named) > 0:
            least = TIED * rows[len(named) - 1].total_ns
            there = [row.name for row in rows if row.total_ns >= least]
            apart = {name if "…" in name else plain(name) for name in named}
            if len(apart) == len(named) and all(_among(there, name) for name in named):
                return Finding("exact", f"{said}; they lead the {table}", definition=table)
    leaders = "; ".join(
        f"{table}: {', '.join(shortened([row.name for row in rows[: max(len(named), 1)]], NAME))}"
        for table, rows in trace.tables.items()
        if table in ("kernels", "operators", "device operators")
    )
    return Finding("apart", said, f"the profile's largest are {leaders}" if leaders else NO_TABLE)


def _among(names: Sequence[str], said: str) -> bool:
    """Whether one of these is meant, be it shortened as perflab trace prints it."""
    if "…" not in said:
        return plain(said) in map(plain, names)
    return any(
        _holds(whole, said.split("…"))
        for name in names
        for whole in (name, NAMESPACES.sub("", name))
    )


def _holds(name: str, pieces: Sequence[str]) -> bool:
    """Whether a name begins with the first piece, and the others come in this order."""
    at = 0
    for piece in pieces:
        found = name.find(piece, at)
        if found < 0 or (at == 0 and found > 0):
            return False
        at = found + len(piece)
    return True


def plain(name: str) -> str:
    """Strip a name of template and function arguments, return types and case."""
    before, name = (
        "",
        NAMESPACES.sub("", name).replace("(anonymous namespace)", "").replace("<unnamed>", ""),
    )
    while before != name:
        before, name = name, TEMPLATE.sub("", name)
    return name.removeprefix("void ").split("<")[0].split("(")[0].strip().lower()
