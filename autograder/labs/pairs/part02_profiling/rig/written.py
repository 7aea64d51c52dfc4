"""A trace as it was written into a file: its steps, its operators, its ranges."""

from __future__ import annotations

import contextlib
import json
from bisect import bisect_left
from collections import defaultdict
from itertools import takewhile
from pathlib import Path
from typing import Any

from autograder.worker.rigs.returned import file_bytes

MOST = 64 * 1024 * 1024  # bytes
# An operator with inputs of FEATURES columns says how many rows its batch has; WIDTH is of weights.
FEATURES, WIDTH = 11, 13
STEP = "ProfilerStep#"


class Written:
    """A trace in a file; one that is not there or cannot be read has no events."""

    def __init__(self, path: Path) -> None:
        """Read it."""
        events: Any = []
        with contextlib.suppress(ValueError, KeyError, TypeError, RecursionError):
            events = json.loads(file_bytes(path, MOST).tobytes())["traceEvents"]
        self._events = [it for it in events if isinstance(it, dict) and "name" in it]
        self._spans = [it for it in self._events if it.get("ph") == "X" and "dur" in it]
        self._spans.sort(key=lambda it: (it["ts"], -it["dur"]))

    @property
    def has_memory(self) -> bool:
        """Whether memory was recorded."""
        return any(it["name"] == "[memory]" for it in self._events)

    def steps(self) -> list[dict[str, Any]]:
        """Return each step's number, and the rows of the batches in it."""
        steps = [it for it in self._of("user_annotation") if it["name"].startswith(STEP)]
        return [
            {"number": int(it["name"].removeprefix(STEP)), "rows": self._rows(it)} for it in steps
        ]

    def operators(self) -> dict[str, list[float]]:
        """Return how often each operator was called, its own microseconds, and those of what it calls as well."""
        own: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
        open_: dict[Any, list[dict[str, Any]]] = defaultdict(list)
        for span in self._of("cpu_op", "user_annotation"):
            above = open_[span.get("tid")]
            while above and span["ts"] >= above[-1]["ts"] + above[-1]["dur"]:
                above.pop()
            if above:
                own[above[-1]["name"]][1] -= span["dur"]
            above.append(span)
            own[span["name"]][0] += 1
            own[span["name"]][1] += span["dur"]
            own[span["name"]][2] += span["dur"]
        return {name: it for name, it in own.items() if name.startswith("aten::")}

    def ranges(self) -> list[dict[str, Any]]:
        """Return each range: its name, the ranges around it, and whether an operator runs in it, in any thread."""
        named = self._of("user_annotation")
        return [
            {
                "name": it["name"][:200],
                "inside": [outer["name"][:200] for outer in named if _around(outer, it)],
                "computes": self._computes(it),
            }
            for it in named[:400]
        ]

    def _computes(self, span: dict[str, Any]) -> bool:
        end = span["ts"] + span["dur"]
        first = bisect_left(self._spans, span["ts"], key=lambda it: it["ts"])
        within = takewhile(lambda it: it["ts"] <= end, self._spans[first:])
        return any(
            it.get("cat") == "cpu_op" and it["name"].startswith("aten::")
            for it in within
            if it["ts"] + it["dur"] <= end
        )

    def _of(self, *kinds: str) -> list[dict[str, Any]]:
        return [it for it in self._spans if it.get("cat") in kinds]

    def _rows(self, step: dict[str, Any]) -> list[int]:
        inside = [it for it in self._of("cpu_op") if _around(step, it)]
        shapes = [shape for it in inside for shape in it.get("args", {}).get("Input Dims", [])]
        rows = {shape[0] for shape in shapes if len(shape) == 2 and shape[1] == FEATURES}
        return sorted(rows - {WIDTH})


def _around(outer: dict[str, Any], inner: dict[str, Any]) -> bool:
    if outer is inner or outer.get("tid") != inner.get("tid"):
        return False
    end = inner["ts"] + inner["dur"]
    return bool(outer["ts"] <= inner["ts"] and end <= outer["ts"] + outer["dur"])
