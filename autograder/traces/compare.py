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
    """Return what can be set side by side, under headings; in each the largest effect first."""
    found = changes(now, before)
    made = {
        "what the time consists of": parts(now, before),
        "shares": [one for one in found if one.figure.unit == "%"],
        "times and counts": [one for one in found if one.figure.unit != "%"],
        "ranges, the mean of one": each(now, before, "ranges"),
        "ranges on the GPU, the mean of one": each(now, before, "ranges on the GPU"),
        "kernels, the mean of one": each(now, before, "kernels"),
    }
    return {name: sorted(rows, key=lambda one: -one.effect) for name, rows in made.items() if rows}


def changes(now: Trace, before: Trace) -> list[Change]:
    """Pair the figures that both have, with the same definition, window and device."""
    old = {_key(one): one.value for one in before.figures}
    kept = (one for one in now.figures if one.id.startswith(KEPT))
    found = ((one, old.get(_key(one))) for one in kept)
    return [
        Change(one, value) for one, value in found if value is not None and (one.value or value)
    ]


def parts(now: Trace, before: Trace) -> list[Change]:
    """Pair the slices of the breakdowns, as shares; one that only one of them has was, or is, 0 %."""
    found = []
    for where in sorted(now.breakdown.keys() & before.breakdown.keys()):
        shares = [_shares(trace.breakdown[where]) for trace in (now, before)]
        device = int(where[3:]) if where.startswith("gpu") else None
        for name in dict.fromkeys((*shares[0], *shares[1])):
            share = Figure(name, shares[0].get(name, 0.0), "%", "its time", device)
            found.append(Change(share, shares[1].get(name, 0.0)))
    return found


def _shares(slices: Sequence[Slice]) -> dict[str, float]:
    whole = max(sum(one.ns for one in slices), 1)
    return {one.name: 100.0 * one.ns / whole for one in slices}


def each(now: Trace, before: Trace, table: str) -> list[Change]:
    """Pair the rows of a table by name, as the mean duration of one."""
    old = {row.name: row.total_ns / row.count for row in before.rows(table) if row.count}
    rows = [row for row in now.rows(table) if row.count and row.name in old]
    return [
        Change(Figure(row.name, row.total_ns / row.count, "ns", "each"), old[row.name])
        for row in rows[:ROWS]
    ]


def verdict(now: Trace, before: Trace) -> str:
    """Say in one line what became of the time of a step, and of the part that changed most; nothing without steps."""
    step, old = now.figure("step_median"), before.figure("step_median")
    if not step or not old:
        return ""
    said = f"a step takes {shown(step, 'ns')}, before {shown(old, 'ns')}: {old / step:.2f}x as fast"
    most = max(parts(now, before), key=lambda one: one.effect, default=None)
    if most is None:
        return said
    return f"{said}; the largest change is of {most.figure.id}, {most.before:.1f} -> {most.figure.value:.1f} %"


def _key(figure: Figure) -> tuple[str | int | None, ...]:
    return figure.id, figure.window, figure.device, figure.subject, figure.launch


def incomparable(now: Trace, before: Trace) -> Iterator[str]:
    """Say why the two are not alike enough for a before and after."""
    if now.sha256 == before.sha256:
        yield "both files hold the same profile"
    if now.tool != before.tool:
        yield f"one was recorded with {now.tool}, the other with {before.tool}: their times are not alike"
    if now.devices != before.devices:
        yield f"recorded on {_list(now)} and on {_list(before)}: compare on one machine"
    if now.step_count != before.step_count:
        counts = f"{many(now.step_count, 'step')} against {before.step_count:,}"
        yield f"{counts}: compare shares and times per step, not totals"
    windows = [{one.id for one in trace.windows} for trace in (now, before)]
    if ("steps" in windows[0]) != ("steps" in windows[1]):
        yield "only one of them has steps: their windows are not alike"


def _list(trace: Trace) -> str:
    return ", ".join(dict.fromkeys(trace.devices)) or "no GPU"
