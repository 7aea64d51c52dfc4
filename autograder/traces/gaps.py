"""The longest stretches in which a GPU had nothing to do.

When, between which works, and what the CPU did meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from autograder.traces.breakdown import REST, gpu_layers
from autograder.traces.events import Array, Events
from autograder.traces.record import Gap, Window
from autograder.traces.spans import growth
from autograder.traces.stretch import gpus, on_gpu, stretch

LONGEST = 10  # of each GPU


def gaps(events: Events, windows: tuple[Window, ...]) -> Iterator[Gap]:
    """Yield each GPU's longest gaps within the steps, the longest first."""
    for device in gpus(events):
        named = stretch(windows, "steps", f"gpu{device}")
        if named is None:
            continue
        work = on_gpu(events, device)
        layers = gpu_layers(events, device)
        idle = work.spans.outside(named[1])
        longest = np.argsort(idle.start - idle.end, kind="stable")[:LONGEST]
        for start, end in zip(
            idle.start[longest].tolist(), idle.end[longest].tolist(), strict=True
        ):
            during = growth(layers, (start, end))
            most = max(during, key=during.__getitem__)
            meanwhile = most if 2 * during[most] >= end - start else REST
            before = _name(work, work.end == start)
            after = _name(work, work.start == end)
            yield Gap(device, start - named[1][0], end - start, before, after, meanwhile)


def _name(work: Events, which: Array) -> str:
    return next((work.names[number] for number in work.name[which].tolist()), "")
