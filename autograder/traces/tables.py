"""Events of one name together.

They are kernels, and operators by their own time on the CPU or by the GPU work they started.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from autograder.traces.events import KERNELS, ON_GPU, STEP, Array, Events, Kind
from autograder.traces.record import Row

LONGEST = 50
"""Rows."""


def tables(events: Events) -> dict[str, tuple[Row, ...]]:
    """Return every table that is not empty."""
    kernels = events.of(*KERNELS)
    ranges = events.of(Kind.MARK).named(lambda name: not STEP.fullmatch(name))
    named = rows(ranges, ranges.durations)
    copies = events.of(Kind.COPY, Kind.SET)
    calls = events.of(Kind.CALL)
    every = {
        "kernels": rows(kernels, kernels.durations),
        "operators": _own_time(events),
        "device operators": _device_operators(events),
        "copies": rows(copies, copies.durations),
        "calls": rows(calls, calls.durations),
        "ranges": named,
        "ranges on the GPU": _device_ranges(events, ranges, [row.name for row in named]),
    }
    return {name: table for name, table in every.items() if table}


def rows(events: Events, times: Array) -> tuple[Row, ...]:
    """Add up by name, largest first."""
    ids, inverse, counts = np.unique(events.name, return_inverse=True, return_counts=True)
    sums = np.zeros((2, len(ids)), np.int64)
    np.add.at(sums[0], inverse, times)
    np.add.at(sums[1], inverse, events.size)
    names = [events.names[number] for number in ids]
    entries = zip(names, counts.tolist(), *sums.tolist(), strict=True)
    return add_up(entries)[:LONGEST]


def add_up(entries: Iterable[tuple[str, int, int, int]]) -> tuple[Row, ...]:
    """Add up name, count, nanoseconds and bytes by name, largest first."""
    sums: dict[str, list[int]] = {}
    for name, *values in entries:
        before = sums.get(name, (0, 0, 0))
        sums[name] = [sum(pair) for pair in zip(before, values, strict=True)]
    whole = max(sum(ns for _, ns, _ in sums.values()), 1)
    rows = [
        Row(name, count, ns, 100.0 * ns / whole, size) for name, (count, ns, size) in sums.items()
    ]
    return tuple(sorted(rows, key=lambda row: -row.total_ns))


def _own_time(events: Events) -> tuple[Row, ...]:
    """Operators by the time that is theirs and of nothing they called, as `self CPU` is."""
    on_cpu = events.of(Kind.OP, Kind.CALL, Kind.MARK)
    on_cpu = on_cpu.where(np.lexsort((-on_cpu.end, on_cpu.start, on_cpu.track)))
    times = own_times(on_cpu.start.tolist(), on_cpu.end.tolist(), on_cpu.track.tolist())
    own = np.array(times, np.int64)
    is_op = on_cpu.kind == Kind.OP
    return rows(on_cpu.where(is_op), own[is_op])


def own_times(starts: list[int], ends: list[int], tracks: list[int]) -> list[int]:
    """Take from each interval what the intervals directly inside it cover.

    They are sorted by track, start, -end.
    """
    own = [end - start for start, end in zip(starts, ends, strict=True)]
    open_: list[int] = []
    for i, (start, end, track) in enumerate(zip(starts, ends, tracks, strict=True)):
        while open_ and (tracks[open_[-1]] != track or ends[open_[-1]] <= start):
            open_.pop()
        if open_:
            own[open_[-1]] -= min(end, ends[open_[-1]]) - start
        open_.append(i)
    return own


def _device_operators(events: Events) -> tuple[Row, ...]:
    """Operators by the kernels that they started themselves."""
    kernels, ops = events.of(*KERNELS).joined("op", events.of(Kind.OP))
    return rows(ops, kernels.durations)


def _device_ranges(
    events: Events,
    ranges: Events,
    names: Iterable[str],
) -> tuple[Row, ...]:
    """Return ranges by the time in which the GPU did what was launched in them.

    Any thread may have launched it: backward has its own.
    """
    work, call = events.of(*ON_GPU).joined("link", events.of(Kind.CALL))
    ids = {ranges.names[number]: number for number in np.unique(ranges.name).tolist()}
    entries = []
    for name in names:
        own = ranges.where(ranges.name == ids[name])
        time = work.where(own.spans.hold(call.start)).spans.length
        if time:
            entries.append((name, len(own), time, 0))
    return add_up(entries)
