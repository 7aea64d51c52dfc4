"""Reads the events of a trace that torch.profiler exported, and knows which operators do no work."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from pathlib import Path

LOOKS = "alias as_strided detach expand flatten narrow permute reshape select slice split squeeze t transpose unflatten"
MAKES = "empty empty_like empty_strided resize_ lift_fresh result_type to unsqueeze view view_as"
NO_WORK = frozenset(f"aten::{name}" for name in f"{LOOKS} {MAKES}".split())
"""Operators that look at memory in another shape, or ask for some; none of them computes a number."""


@dataclass(frozen=True)
class Event:
    """Something that took time."""

    category: str
    """cpu_op: operators, and ranges of torch.compile. kernel, gpu_memcpy, gpu_memset: work of the GPU."""
    name: str
    start: float
    """Microseconds, as in the file."""
    end: float
    thread: tuple[object, object]
    """Process and thread, or device and stream."""


def load_events(file: str | Path) -> list[Event]:
    """Return every event of a trace that has a duration, by their start; the file may be gzipped.

    Of events that start together, the longer one comes first.
    """
    data = Path(file).read_bytes()
    text = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    events = [
        Event(e["cat"], e["name"], e["ts"], e["ts"] + e["dur"], (e["pid"], e["tid"]))
        for e in json.loads(text)["traceEvents"]
        if e.get("ph") == "X" and "cat" in e
    ]
    return sorted(events, key=lambda e: (e.start, -e.end))
