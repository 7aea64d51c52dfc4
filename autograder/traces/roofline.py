"""Places operators by what they compute for each byte, and in each second.

Time is that of the kernels that an operator launched, else of its call. What an operator calls
belongs to it: the outermost one whose work is known counts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from autograder.traces import ceilings
from autograder.traces.ceilings import Ceiling
from autograder.traces.data_waits import loading
from autograder.traces.events import Array, Events, Kind
from autograder.traces.metrics import own_ops
from autograder.traces.operators import OLD_BACKWARD, PRODUCTS
from autograder.traces.record import Point, Roofline, Slice
from autograder.traces.stretch import gpus

LARGE = 64_000_000
"""Bytes of a call: no cache of a GPU holds so many."""
DRAWN = 40
NAMED = 5
NO_OPERATOR = "kernels without an operator"


class Placed(NamedTuple):
    """Operators with one shape, those that take longest first, and what has no place."""

    points: list[Point]
    whole_ns: int
    unplaced: Counter[str]


def roofline(events: Events, devices: Sequence[str] = ()) -> Roofline | None:
    """Return every operator whose work is known; nothing where none is. *devices* may have measured ceilings."""
    placed = _roofline(events)
    return None if placed is None else _under_ceiling(placed, devices, _item(events))


def _item(events: Events) -> int:
    """Return the bytes of a number in the products: 2 where one is in half precision."""
    ops = events.of(Kind.OP)
    works = [ops.works[at] for at in set(ops.work[ops.work >= 0].tolist())]
    return min((work.item for work in works if work.kind in PRODUCTS), default=4)


def _under_ceiling(placed: Placed, devices: Sequence[str], item: int) -> Roofline:
    """Put the roof where the device's own limits are, unless the profile went beyond."""
    points, rest = placed.points, placed.unplaced.most_common(NAMED)
    roofline = _under_the_best(points)
    if ceiling := ceilings.of(devices, item):
        roofline = _under(roofline, ceiling)
    return replace(
        roofline,
        placed_ns=sum(point.ns for point in points),
        whole_ns=placed.whole_ns,
        saved_ns=sum(map(roofline.saved, points)),
        unplaced=tuple(Slice(name, ns) for name, ns in rest if ns > 0),
    )


def _under_the_best(points: Sequence[Point]) -> Roofline:
    """Put the roof where the profile itself reached it."""
    fastest = max(points, key=lambda point: point.rate)
    widest = max(_of_memory(points), key=lambda point: point.bandwidth, default=None)
    return Roofline(
        tuple(points[:DRAWN]),
        max(len(points) - DRAWN, 0),
        placed_ns=0,
        whole_ns=0,
        best_rate=fastest.rate,
        best_bandwidth=widest.bandwidth if widest else None,
        fastest=fastest,
        widest=widest,
    )


def _of_memory(points: Sequence[Point]) -> Sequence[Point]:
    """Return points that show how fast memory is: large ones, else all; products alone do not."""
    for chosen in ([point for point in points if is_large(point)], points):
        if any(point.kind not in PRODUCTS for point in chosen):
            return chosen
    return ()


def is_large(point: Point) -> bool:
    """Say whether a call moves more than a cache holds."""
    return point.bytes >= LARGE * point.count


def _under(roofline: Roofline, ceiling: Ceiling) -> Roofline:
    """Raise a roof to what was measured."""
    measured = f"{ceiling.device} ({8 * ceiling.bytes}-bit numbers; {ceiling.measured})"
    roofline = replace(roofline, measured=measured)
    if ceiling.rate > roofline.best_rate:
        roofline = replace(roofline, best_rate=ceiling.rate, fastest=None)
    if ceiling.bandwidth > (roofline.best_bandwidth or 0):
        roofline = replace(roofline, best_bandwidth=ceiling.bandwidth, widest=None)
    return roofline


def _roofline(events: Events) -> Placed | None:
    ops = own_ops(events)
    if not gpus(events):
        ops = ops.where(~loading(events).spans.hold(ops.start))
    ops = replace(ops, work=np.where(_of_one_gradient(ops), -1, ops.work))
    if not (ops.work >= 0).any():
        return None
    ops = ops.where(np.lexsort((-ops.end, ops.start, ops.track)))
    outer, own, top = _nested(ops)
    if gpus(events):
        return _of_kernels(events.of(Kind.KERNEL), ops, outer)
    calls = outer == np.arange(len(ops))
    times = np.where(calls, ops.durations, 0)
    whole = int(ops.durations[top].sum())
    rest = Counter[str]()
    for at in np.flatnonzero(outer < 0).tolist():
        rest[ops.names[ops.name[at]]] += own[at]
    return _placed(ops, np.flatnonzero(calls), times, whole, rest)


def _of_one_gradient(ops: Events) -> Array:
    """Say which backward passes of old versions, counted as both gradients, were for one alone."""
    starts = np.sort(ops.start[ops.found(re.compile(f"{OLD_BACKWARD}_input"))])
    asked = np.searchsorted(starts, ops.start) < np.searchsorted(starts, ops.end)
    one: Array = ops.found(re.compile(f"{OLD_BACKWARD}$")) & ~asked
    return one


def _nested(ops: Events) -> tuple[Array, list[int], Array]:
    """Return of each, sorted, the outermost operator around it whose work is known, or -1.

    And its own time, and whether there is no operator around it.
    """
    outer: list[int] = []
    own: list[int] = []
    top: list[bool] = []
    around: list[int] = []
    ends = ops.end.tolist()
    columns = (ops.start.tolist(), ends, ops.track.tolist(), (ops.work >= 0).tolist())
    for at, (start, end, track, counts) in enumerate(zip(*columns, strict=True)):
        while around and (ops.track[around[-1]] != track or ends[around[-1]] <= start):
            around.pop()
        above = outer[around[-1]] if around else -1
        outer.append(at if above < 0 and counts else above)
        own.append(end - start)
        top.append(not around)
        if around:
            own[around[-1]] -= min(end, ends[around[-1]]) - start
        around.append(at)
    return np.array(outer, np.int64), own, np.array(top, bool)


def _of_kernels(kernels: Events, ops: Events, outer: Array) -> Placed | None:
    """Give each operator the time of the kernels that were launched in it."""
    order = np.argsort(ops.op, kind="stable")
    ids = np.append(ops.op[order], -1)
    at = np.searchsorted(ids[:-1], kernels.op)
    linked = (kernels.op >= 0) & (ids[at] == kernels.op)
    launcher = np.where(linked, np.append(order, 0)[at], -1)
    root = np.where(linked, outer[launcher], -1)
    times = np.zeros(len(ops), np.int64)
    np.add.at(times, root[root >= 0], kernels.durations[root >= 0])
    rest = Counter[str]()
    for kernel in np.flatnonzero(root < 0).tolist():
        name = ops.names[ops.name[launcher[kernel]]] if linked[kernel] else NO_OPERATOR
        rest[name] += int(kernels.durations[kernel])
    whole = int(kernels.durations.sum())
    return _placed(ops, np.flatnonzero(times > 0), times, whole, rest)


def _placed(
    ops: Events,
    calls: Array,
    times: Array,
    whole: int,
    rest: Counter[str],
) -> Placed | None:
    """Add up calls of one operator with one shape and type."""
    sums: dict[tuple[int, int], list[int]] = {}
    for at in calls.tolist():
        key = int(ops.name[at]), int(ops.work[at])
        before = sums.setdefault(key, [0, 0])
        before[0] += 1
        before[1] += int(times[at])
    points = [_point(ops, *key, *values) for key, values in sums.items() if values[1]]
    if not points:
        return None
    points.sort(key=lambda point: -point.ns)
    return Placed(points, whole, rest)


def _point(ops: Events, name: int, work: int, count: int, ns: int) -> Point:
    counted = ops.works[work]
    flops, size = float(count * counted.flops), float(count * counted.bytes)
    shape = counted.kind, counted.shape
    return Point(ops.names[name], *shape, count, ns, flops, size, counted.type)
