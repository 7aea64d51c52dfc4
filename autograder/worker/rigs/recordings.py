"""Made profiles as torch.profiler writes them: events are added one by one, and what is true of them is counted.

Times are microseconds after a moment that is drawn; a whole one is painted where an event ran in it.
"""

from __future__ import annotations

import gzip
import json
from typing import Any

import numpy as np

GPU = ("kernel", "gpu_memcpy", "gpu_memset")
TO_GPU, BACK = (
    "Memcpy HtoD (Pageable -> Device)",
    "Memcpy DtoH (Device -> Pageable)",
)
STREAM = 7
Layer = np.ndarray[Any, Any]
Beginning = str | tuple[str, ...]


class Recording:
    """A file of events; *window* is where its steps are."""

    def __init__(self, random: np.random.Generator) -> None:
        self._random = random
        self._base = self._draw(10**8, 10**9)
        self.events: list[dict[str, Any]] = []
        self.window = slice(0)

    def _draw(self, low: int, high: int) -> int:
        return int(self._random.integers(low, high + 1))

    def add(
        self,
        cat: str,
        name: str,
        at: Any,
        dur: Any,
        tid: int = 0,
        **args: Any,
    ) -> Any:
        """Add an event of a thread or a stream, and return when it ends."""
        place: dict[str, Any] = {"pid": 9, "tid": tid or 1, "args": args}
        if cat.startswith(("kernel", "gpu")):
            stream = tid or STREAM
            place = {
                "pid": 0,
                "tid": stream,
                "args": {"device": 0, "stream": stream, **args},
            }
        if cat == "gpu_memcpy":
            place["args"]["bytes"] = 4096 * dur
        self.events.append(
            {
                "ph": "X",
                "cat": cat,
                "name": name,
                "ts": at,
                "dur": dur,
                **place,
            }
        )
        return at + dur

    def data(self) -> bytes:
        """Return the file, gzipped; events are in no order, as they are in real ones."""
        events = [{**event, "ts": event["ts"] + self._base} for event in self.events]
        text = json.dumps(
            {
                "schemaVersion": 1,
                "traceEvents": events[::2] + events[1::2],
            }
        )
        return gzip.compress(text.encode(), mtime=0)

    # --- what is true of it ---------------------------------------------------------------------------------------

    @property
    def whole(self) -> slice:
        """From the first event to the end of the last."""
        first = min(event["ts"] for event in self.events)
        return slice(
            first,
            max(event["ts"] + event["dur"] for event in self.events),
        )

    def of(
        self,
        *categories: str,
        beginning: Beginning = "",
        holding: str = "",
    ) -> list[dict[str, Any]]:
        """Return the events of these kinds."""
        return [
            event
            for event in self.events
            if event["cat"] in categories
            and event["name"].startswith(beginning)
            and holding in event["name"]
        ]

    def counted(
        self,
        *categories: str,
        beginning: Beginning = "",
        holding: str = "",
    ) -> Layer:
        """Return for each microsecond how many of these events ran."""
        line = np.zeros(self.whole.stop, int)
        for event in self.of(*categories, beginning=beginning, holding=holding):
            line[event["ts"] : event["ts"] + event["dur"]] += 1
        return line

    def painted(
        self,
        *categories: str,
        beginning: Beginning = "",
        holding: str = "",
    ) -> Layer:
        """Return for each microsecond whether one of these events ran."""
        return self.counted(*categories, beginning=beginning, holding=holding) > 0

    def share(self, line: Layer, window: slice | None = None) -> float:
        """Return how much of the steps, or of another window, is painted, in percent."""
        return 100.0 * float(line[window or self.window].mean())

    def milliseconds(self, line: Layer) -> float:
        """Return how long is painted."""
        return float(line.sum()) / 1000
