"""Reads a trace that torch.profiler exported: its events, and the time that is an operator's own."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

OPERATOR = "cpu_op"
ON_THE_CPU = (OPERATOR, "user_annotation", "cuda_runtime", "cuda_driver")


@dataclass(frozen=True)
class Event:
    """Something that took time."""

    category: str
    """user_annotation: steps, ranges, waits for the loader. cpu_op: operators. kernel, gpu_memcpy: work of the GPU."""
    name: str
    start: float
    """Microseconds, as in the file."""
    end: float
    thread: tuple[object, object]
    """Process and thread, or device and stream."""


def load_events(file: str | Path) -> list[Event]:
    """Return every event of a trace that has a duration, by their start; the file may be gzipped."""
    data = Path(file).read_bytes()
    text = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    events = [
        Event(e["cat"], e["name"], e["ts"], e["ts"] + e["dur"], (e["pid"], e["tid"]))
        for e in json.loads(text)["traceEvents"]
        if e.get("ph") == "X" and "cat" in e
    ]
    return sorted(events, key=lambda e: (e.start, -e.end))


def own_times(events: list[Event]) -> Counter[str]:
    """Add up, by operator, the microseconds that are its own: not those of operators, ranges and CUDA calls inside it.

    *events* is all of a trace, as `load_events` gives it.
    """
    own: Counter[str] = Counter()
    opened: dict[object, list[Event]] = {}
    for event in events:  # an outer one comes before those inside it
        if event.category not in ON_THE_CPU:
            continue
        outer = opened.setdefault(event.thread, [])
        while outer and outer[-1].end <= event.start:
            outer.pop()
        if outer and outer[-1].category == OPERATOR:
            own[outer[-1].name] -= event.end - event.start
        if event.category == OPERATOR:
            own[event.name] += event.end - event.start
        outer.append(event)
    return own
