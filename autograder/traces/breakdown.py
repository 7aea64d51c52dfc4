"""What a window consists of: work first, then what the GPU's idle time coincides with.

And the lanes of a timeline.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from autograder.traces.data_waits import loading
from autograder.traces.events import KERNELS, Events, Kind
from autograder.traces.metrics import ALLOC, SYNC, collectives, own_ops
from autograder.traces.record import Lane, Slice, Window
from autograder.traces.spans import EMPTY, Spans, growth
from autograder.traces.stretch import Stretch, gpus, on_gpu, stretch

PIECES = 600
REST = "Python and other"
QUEUED = "between queued work"
LANES_OF = 8  # GPUs


def breakdown(
    events: Events,
    windows: tuple[Window, ...],
) -> dict[str, tuple[Slice, ...]]:
    """Return, for each GPU or for the CPU alone, slices that add up to the window."""
    layers = {f"gpu{device}": gpu_layers(events, device) for device in gpus(events)}
    if not layers and len(events.of(Kind.OP)):
        layers["cpu"] = _cpu_layers(events)
    parts = {}
    for name, layer in layers.items():
        named = stretch(windows, "steps", name, "trace")
        if named is not None:
            parts[name] = _slices(layer, named[1])
    return parts


def _slices(layers: Mapping[str, Spans], where: Stretch) -> tuple[Slice, ...]:
    added = growth(layers, where)
    rest = where[1] - where[0] - sum(added.values())
    return tuple(Slice(name, ns) for name, ns in {**added, REST: rest}.items() if ns)


def gpu_layers(events: Events, device: int) -> dict[str, Spans]:
    """Order matters: what stands first wins.

    All that stands behind the copies is idle time of the GPU.
    """
    work = on_gpu(events, device)
    calls = events.of(Kind.CALL)
    return {
        "kernels": work.of(Kind.KERNEL, Kind.GRAPH).spans,
        "communication": work.of(Kind.COMM).spans,
        "copies": work.of(Kind.COPY, Kind.SET).spans,
        QUEUED: queued(work, calls),
        "data loading": loading(events).spans,
        "allocating": calls.named(ALLOC).spans,
        "synchronising": calls.named(SYNC).spans,
        "launching": events.of(Kind.OP, Kind.CALL).spans,
    }


def queued(work: Events, calls: Events) -> Spans:
    """Return the idle stretches whose end was launched before they began: then the CPU was not
    what the GPU waited for.

    Where the launch ends inside the stretch, the GPU waited for it, be it only for the
    microseconds that it takes.
    """
    ran = work.spans
    begins = ran.end[:-1]
    ends = ran.start[1:]
    started, launched_by = work.joined("link", calls)
    at = np.searchsorted(ends, started.start)
    matched = at < len(ends)
    matched[matched] = ends[at[matched]] == started.start[matched]
    at = at[matched]
    at = at[launched_by.end[matched] <= begins[at]]
    return Spans.of(begins[at], ends[at])


def _cpu_layers(events: Events) -> dict[str, Spans]:
    return {
        "data loading": loading(events).spans,
        "operators": own_ops(events).spans,
        "communication": collectives(events).spans,
    }


def timeline(events: Events, windows: tuple[Window, ...]) -> tuple[Lane, ...]:
    """Return the lanes of a picture, over the steps if there are some."""
    named = stretch(windows, "steps", *(f"gpu{device}" for device in gpus(events)), "trace")
    if named is None:
        return ()
    lanes = {}
    for device in gpus(events)[:LANES_OF]:
        work = on_gpu(events, device)
        lanes[f"GPU {device} kernels"] = work.of(*KERNELS, Kind.GRAPH).spans
        lanes[f"GPU {device} communication"] = work.of(Kind.COMM).spans
        lanes[f"GPU {device} copies"] = work.of(Kind.COPY, Kind.SET).spans
    lanes |= {
        "communication": EMPTY if gpus(events) else collectives(events).spans,
        "operators": events.of(Kind.OP).spans,
        "GPU calls": events.of(Kind.CALL).spans,
        "data loading": loading(events).spans,
    }
    return tuple(
        Lane(name, tuple(round(float(value), 3) for value in spans.coverage(named[1], PIECES)))
        for name, spans in lanes.items()
        if spans.within(named[1])
    )
