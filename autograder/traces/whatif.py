"""What a window would take if the host did not have to wait."""

from __future__ import annotations

from collections.abc import Iterator

from autograder.traces.breakdown import QUEUED, gpu_layers
from autograder.traces.data_waits import loading
from autograder.traces.events import Events, Kind
from autograder.traces.host_waits import NO_WAITS, Queue, Waits, waited
from autograder.traces.record import Figure, Trace, Window
from autograder.traces.replay import replayed
from autograder.traces.spans import Spans, growth
from autograder.traces.stretch import Stretch, gpus, on_gpu, stretch

FED = ("kernels", "communication", "copies", QUEUED)


def figures(events: Events, windows: tuple[Window, ...]) -> Iterator[Figure]:
    """Yield what each GPU's window would take, or the host's where there is no GPU."""
    for device in gpus(events):
        named = stretch(windows, "steps", f"gpu{device}")
        if named is not None:
            yield from _of_gpu(events, device, *named)
    named = stretch(windows, "steps", "trace")
    if named is not None and not gpus(events) and len(events.of(Kind.OP)):
        data = loading(events).spans.within(named[1])
        time = named[1][1] - named[1][0] - data.length
        yield from _without("without_data", time, data, named[0], None)


def _of_gpu(events: Events, device: int, window: str, where: Stretch) -> Iterator[Figure]:
    calls = events.of(Kind.CALL)
    queue = Queue.of(on_gpu(events, device), calls)
    data = loading(events).spans.within(where)
    time = replayed(queue, Waits.of(queue, calls), data, where)
    yield from _without("without_data", time, data, window, device)
    syncs = waited(queue, calls).within(where)
    time = replayed(queue, NO_WAITS, syncs, where)
    yield from _without("without_sync", time, syncs, window, device)
    parts = growth(gpu_layers(events, device), where)
    fed = sum(parts[name] for name in FED)
    yield Figure("never_idle", fed, "ns", _label(window), device)


def _without(
    id: str,  # noqa: A002
    time: int,
    removed: Spans,
    window: str,
    device: int | None,
) -> Iterator[Figure]:
    if removed:
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
