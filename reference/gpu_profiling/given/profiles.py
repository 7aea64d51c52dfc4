"""Reads a profile that torch.profiler exported: its events, and what of a window they cover. Times are microseconds."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

Window = tuple[float, float]
REST = "Python and other"
LOOKS = "alias as_strided detach expand flatten narrow permute reshape select slice split squeeze t transpose unflatten"
MAKES = "empty empty_like empty_strided resize_ lift_fresh result_type to unsqueeze view view_as"
NO_WORK = frozenset(f"aten::{name}" for name in f"{LOOKS} {MAKES}".split())
"""Operators that look at memory in another shape, or ask for some; none of them computes a number."""


@dataclass(frozen=True)
class Event:
    """Something that took time."""

    category: str
    """user_annotation: steps, ranges, waits for the loader. cpu_op: operators. cuda_runtime, cuda_driver: calls.
    kernel, gpu_memcpy, gpu_memset: work of the GPU."""
    name: str
    start: float
    end: float
    thread: tuple[object, object]
    """Process and thread, or device and stream."""
    correlation: int | None = None
    """Joins a call with the work of the GPU that it launched: both have the same number."""


def load_events(file: str | Path) -> list[Event]:
    """Return every event that has a duration, by their start, a longer one first; the file may be gzipped."""
    data = Path(file).read_bytes()
    text = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    events = [
        Event(e["cat"], e["name"], e["ts"], e["ts"] + e["dur"], (e["pid"], e["tid"]), _correlation(e))
        for e in json.loads(text)["traceEvents"]
        if e.get("ph") == "X" and "cat" in e
    ]
    return sorted(events, key=lambda e: (e.start, -e.end))


def _correlation(event: Mapping[str, Any]) -> int | None:
    found = event.get("args", {}).get("correlation")
    return found if isinstance(found, int) else None


def merged(events: Iterable[Event], window: Window | None = None) -> list[Window]:
    """Return the stretches in which at least one of these ran, cut to the window if there is one."""
    low, high = window or (float("-inf"), float("inf"))
    stretches: list[Window] = []
    for start, end in sorted((max(e.start, low), min(e.end, high)) for e in events):
        if end <= start:
            continue
        if stretches and start <= stretches[-1][1]:
            stretches[-1] = stretches[-1][0], max(end, stretches[-1][1])
        else:
            stretches.append((start, end))
    return stretches


def covered(events: Iterable[Event], window: Window | None = None) -> float:
    """Return how long at least one of these ran; what overlaps counts once."""
    return sum(end - start for start, end in merged(events, window))


def gaps(events: Iterable[Event], window: Window) -> list[float]:
    """Return the lengths of the stretches of the window in which none of these ran."""
    inside = merged(events, window)
    starts = [window[0], *(end for _, end in inside)]
    ends = [*(start for start, _ in inside), window[1]]
    return [end - start for start, end in zip(starts, ends, strict=True) if end > start]


def queued(work: Iterable[Event], calls: Iterable[Event]) -> list[Event]:
    """Return the gaps of the GPU whose next work was launched before the gap began: the CPU was not late there."""
    work = list(work)
    launched = {call.correlation: call.end for call in calls if call.correlation is not None}
    ready = {one.start: launched[one.correlation] for one in work if one.correlation in launched}
    return [
        Event("gap", "queued", end, start, ("gpu", 0))
        for (_, end), (start, _) in pairwise(merged(work))
        if ready.get(start, math.inf) <= end
    ]


def divided(window: Window, layers: Mapping[str, Iterable[Event]]) -> dict[str, float]:
    """Divide a window: each layer gets what none before it covers, and "Python and other" what is left."""
    seen: list[Event] = []
    parts, before = {}, 0.0
    for name, events in layers.items():
        seen += events
        parts[name] = covered(seen, window) - before
        before += parts[name]
    return {**parts, REST: window[1] - window[0] - before}
