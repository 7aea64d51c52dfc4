"""What a window would take if the host did not have to wait.

The recording is replayed: a piece of the host's time is taken out, everything behind it moves
forward, and the GPU does the same work in the same order as soon as it is launched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from autograder.traces.breakdown import QUEUED, gpu_layers
from autograder.traces.data_waits import loading
from autograder.traces.events import ON_GPU, Array, Events, Kind
from autograder.traces.metrics import SYNC
from autograder.traces.record import Figure, Trace, Window
from autograder.traces.spans import Spans, growth
from autograder.traces.stretch import Stretch, gpus, on_gpu, stretch

BLOCKING = re.compile(r"DtoH.*-> Pageable")
"""Copies whose call returns when they are done."""
FED = ("kernels", "communication", "copies", QUEUED)


def figures(events: Events, windows: tuple[Window, ...]) -> Iterator[Figure]:
    """Yield what each GPU's window would take, or the host's where there is no GPU."""
    for device in gpus(events):
        named = stretch(windows, "steps", f"gpu{device}")
        if named is not None:
            yield from _of_gpu(events, device, *named)
    named = stretch(windows, "steps", "trace")
    if named is not None and not gpus(events) and len(events.of(Kind.OP)):
        yield from _without("without_data", named, None, events, loading(events).spans)


def _of_gpu(events: Events, device: int, window: str, where: Stretch) -> Iterator[Figure]:
    named = (window, where)
    yield from _without("without_data", named, device, events, loading(events).spans)
    yield from _without("without_sync", named, device, events, waits(events, device))
    parts = growth(gpu_layers(events, device), where)
    fed = sum(parts[name] for name in FED)
    yield Figure("never_idle", fed, "ns", _label(window), device)


def _without(
    id: str,  # noqa: A002
    named: tuple[str, Stretch],
    device: int | None,
    events: Events,
    removed: Spans,
) -> Iterator[Figure]:
    window, where = named
    removed = removed.within(where)
    if removed:
        work = events.of(*ON_GPU) if device is None else on_gpu(events, device)
        time = replayed(work, events.of(Kind.CALL), removed, where)
        yield Figure(id, time, "ns", _label(window), device)


def at_roof(trace: Trace) -> Iterator[Figure]:
    """Yield what each window would take with every placed operator at its roof.

    Of the time of kernels, or of operators, a share is saved: the one that is saved of all of them.
    """
    roofline = trace.roofline
    if roofline is None or not roofline.whole_ns:
        return
    share = roofline.saved_ns / roofline.whole_ns
    for place, slices in trace.breakdown.items():
        times = {piece.name: piece.ns for piece in slices}
        computed = times.get("kernels", times.get("operators", 0))
        device = int(place[3:]) if place.startswith("gpu") else None
        fed = trace.figure("never_idle", device=device) if device is not None else None
        window = "steps" if trace.steps else _label(place) if device is not None else "trace"
        whole = sum(times.values()) if fed is None else fed
        yield Figure("at_roof", whole - share * computed, "ns", window, device)


def _label(window: str) -> str:
    return window.rstrip("0123456789")


def waits(events: Events, device: int) -> Spans:
    """Return when a thread that gives this GPU work waited for it."""
    calls = events.of(Kind.CALL)
    work = on_gpu(events, device)
    _, launches = work.joined("link", calls)
    syncs = calls.named(SYNC)
    if len(launches):
        syncs = syncs.where(np.isin(syncs.track, launches.track))
    copies, copying = work.named(BLOCKING).joined("link", calls)
    return syncs.spans | Spans.of(copying.start, np.minimum(copying.end, copies.end))


def replayed(work: Events, calls: Events, removed: Spans, where: Stretch) -> int:
    """Return how long the window takes when the host does not spend *removed*, a part of it.

    Without anything removed it takes what it took.
    """
    begun = work.where(work.start < where[1])
    begun = begun.where(np.argsort(begun.start, kind="stable"))
    host = where[1] - removed.length
    if not len(begun):
        return host - where[0]
    launched = _launched(begun, calls)
    moved = launched - removed.before(launched)
    return max(host, _end(begun, launched, moved, where[1])) - where[0]


def _launched(work: Events, calls: Events) -> Array:
    """Return when each was launched, or when it began if its launch was not recorded."""
    launched: Array = work.start.copy()
    _, launches = work.joined("link", calls)
    launched[np.isin(work.link, calls.link[calls.link >= 0])] = launches.start
    return launched


def _end(work: Events, launched: Array, moved: Array, until: int) -> int:
    """Return when the last work ends that was launched at *moved* instead.

    What ran after the end of the window stays out of it. Work begins behind what began before it,
    or after its own launch if that is later; what overlapped it overlaps by as much.
    """
    end = np.maximum.accumulate(work.end)
    free = np.concatenate([[launched[0] - 1], end[:-1]])
    queued = launched <= free
    behind = work.start - free
    usual = max(int(np.median(behind[queued])), 0) if queued.any() else 0
    behind = np.where(queued, behind, np.minimum(behind, usual))
    delay = np.where(queued, 0, work.start - launched)
    length = end - work.start
    total = np.cumsum(behind + length)
    since = moved + delay + length - total
    ends = total + np.maximum.accumulate(since) - np.maximum(end - until, 0)
    return int(ends.max())
