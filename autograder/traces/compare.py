"""Two profiles side by side, and what forbids to compare them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from autograder.traces.record import Figure, Slice, Trace
from autograder.traces.words import many, shown

KEPT = (
    "busy_",
    "idle",
    "kernel_",
    "h2d_",
    "copy_",
    "comm_",
    "memory_peak",
    "launch_",
    "sync_",
    "step_m",
    "step_longest",
    "gap",
    "host_",
    "item_",
    "dataloader",
    "op_",
    "cpu_",
)

ROWS = 12  # of a table that are set side by side


@dataclass(frozen=True)
class Change:
    """One figure of both."""

    figure: Figure
    before: float

    @property
    def ratio(self) -> float | None:
        """What it is now over what it was."""
        return self.figure.value / self.before if self.before else None

    @property
    def effect(self) -> float:
        """How large it is: points of a share, else how many times as much or as little."""
        if self.figure.unit == "%":
            return abs(self.figure.value - self.before)
        if not (self.figure.value > 0 and self.before > 0):
            return 0.0 if self.figure.value == self.before else math.inf
        return abs(math.log(self.figure.value / self.before))


def sections(now: Trace, before: Trace) -> dict[str, list[Change]]:
    """Return what can be set side by side, under headings.

    In each the largest effect first.
    """
    changed = changes(now, before)
    headings = {
        "what the time consists of": parts(now, before),
        "shares": [change for change in changed if change.figure.unit == "%"],
        "times and counts": [change for change in changed if change.figure.unit != "%"],
        "ranges, the mean of one": each(now, before, "ranges"),
        "ranges on the GPU, the mean of one": each(now, before, "ranges on the GPU"),
        "operators on the CPU, the mean of one": each(now, before, "operators"),
        "kernels, the mean of one": each(now, before, "kernels"),
    }
    return {
        name: sorted(rows, key=lambda change: -change.effect)
        for name, rows in headings.items()
        if rows
    }


def changes(now: Trace, before: Trace) -> list[Change]:
    """Pair the figures that both have, with the same definition, window and device."""
    values = {_key(figure): figure.value for figure in before.figures}
    pairs = []
    for figure in now.figures:
        value = values.get(_key(figure))
        if figure.id.startswith(KEPT) and value is not None and (figure.value or value):
            pairs.append(Change(figure, value))
    return pairs


def parts(now: Trace, before: Trace) -> list[Change]:
    """Pair the slices of the breakdowns, as shares.

    One that only one of them has was, or is, 0 %.
    """
    pairs = []
    for where in sorted(now.breakdown.keys() & before.breakdown.keys()):
        new = _shares(now.breakdown[where])
        old = _shares(before.breakdown[where])
        device = int(where[3:]) if where.startswith("gpu") else None
        for name in dict.fromkeys((*new, *old)):
            share = Figure(name, new.get(name, 0.0), "%", "its time", device)
            pairs.append(Change(share, old.get(name, 0.0)))
    return pairs


def _shares(slices: Sequence[Slice]) -> dict[str, float]:
    whole = max(sum(piece.ns for piece in slices), 1)
    return {piece.name: 100.0 * piece.ns / whole for piece in slices}


def each(now: Trace, before: Trace, table: str) -> list[Change]:
    """Pair the rows of a table by name, as the mean duration of one."""
    old = {row.name: row.total_ns / row.count for row in before.rows(table) if row.count}
    rows = [row for row in now.rows(table) if row.count and row.name in old]
    return [
        Change(Figure(row.name, row.total_ns / row.count, "ns", "each"), old[row.name])
        for row in rows[:ROWS]
    ]


def verdict(now: Trace, before: Trace) -> str:
    """Return one line on the time of a step, and on the part that changed most."""
    new = now.figure("step_median")
    old = before.figure("step_median")
    if not new or not old:
        return ""
    line = f"the median step takes {shown(new, 'ns')}, before {shown(old, 'ns')}: {old / new:.2f}x as fast"
    each = [
        (it.figure.id, it.before / 100 * old, it.figure.value / 100 * new)
        for it in parts(now, before)
    ]
    if not each:
        return line
    name, was, takes = max(each, key=lambda it: abs(it[2] - it[1]))
    change = f"about {shown(was, 'ns')} -> {shown(takes, 'ns')} a step"
    return f"{line}; the largest change is of {name}, {change}"


def _key(figure: Figure) -> tuple[str | int | None, ...]:
    return figure.id, figure.window, figure.device, figure.subject, figure.launch


def incomparable(now: Trace, before: Trace) -> Iterator[str]:
    """Yield why the two are not alike enough for a before and after."""
    if now.sha256 == before.sha256:
        yield "both files hold the same profile"
    if now.tool != before.tool:
        tools = f"one was recorded with {now.tool}, the other with {before.tool}"
        yield f"{tools}: their times are not alike"
    if now.devices != before.devices:
        yield f"recorded on {_list(now)} and on {_list(before)}: compare on one machine"
    if now.step_count != before.step_count:
        counts = f"{many(now.step_count, 'step')} against {before.step_count:,}"
        yield f"{counts}: compare shares and times per step, not totals"
    if _has_steps(now) != _has_steps(before):
        yield "only one of them has steps: their windows are not alike"


def _has_steps(trace: Trace) -> bool:
    return any(window.id == "steps" for window in trace.windows)


def _list(trace: Trace) -> str:
    unnamed = "a GPU without a name" if trace.rows("kernels") else "no GPU"
    return ", ".join(dict.fromkeys(trace.devices)) or unnamed
