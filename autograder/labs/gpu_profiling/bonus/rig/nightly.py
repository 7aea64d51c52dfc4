"""Profiles that are compared from night to night: made ones, of which everything is known, and a step to record.

before, after = rig.nightly.pair(rig.random, factor)     before.data(), the file; before.beside(after, allowed)
step = rig.nightly.step(names)                           a step to be profiled; step.became(file), what became of it
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.profiler import record_function

from autograder.worker.rigs.recordings import Recording
from autograder.worker.rigs.returned import text

STEP = "ProfilerStep"


class Ranged(Recording):
    """A trace of so many steps, whose ranges last so many milliseconds of each."""

    def __init__(self, random: np.random.Generator, ms: Mapping[str, float], steps: int) -> None:
        """Draw how each range's time is spread over the steps and over one to three calls in each."""
        super().__init__(random)
        self.ms, self.step_ms = dict(ms), 0.0
        self._now = 0
        spread = {name: random.dirichlet([5.0] * steps) * steps for name in ms}
        first = int(random.integers(0, 40))
        for step in range(steps):
            begun = self._now
            for thread, (name, each) in enumerate(ms.items()):
                self._calls(name, 1000 * each * spread[name][step], 1 + thread % 2)
            self._now += int(random.integers(50, 400))
            self.add("user_annotation", f"{STEP}#{first + step}", begun, self._now - begun)
            self.step_ms += (self._now - begun) / 1000 / steps
            self._now += int(random.integers(100, 900))  # between steps nobody measures
        self.add("gpu_user_annotation", next(iter(ms)), self._now, 10**6, 7)

    def _calls(self, name: str, length: float, thread: int) -> None:
        """Add a range's calls of one step; in each lies another of its name, and an operator."""
        parts = self._random.dirichlet([3.0] * int(self._random.integers(1, 4))) * length
        for part in parts.tolist():
            self.add("user_annotation", name, self._now, part, thread)
            self.add(
                "user_annotation", name, self._now + part / 4, part / 2, thread
            )  # a call within the call
            self.add("cpu_op", "aten::conv2d", self._now + part / 8, part / 2, thread)
            self._now += round(part) + 2

    def beside(self, after: Ranged, allowed: float) -> dict[str, Any]:
        """Return what is true of this trace and a later one."""
        rows = [
            {
                "range": name,
                "before_ms": self.ms.get(name, 0.0),
                "after_ms": after.ms.get(name, 0.0),
            }
            for name in {**self.ms, **after.ms}
        ]
        slower = after.step_ms > self.step_ms * (1 + allowed)
        return {
            "before_ms": self.step_ms,
            "after_ms": after.step_ms,
            "slower": slower,
            "rows": rows,
        }


def pair(random: np.random.Generator, factor: float) -> tuple[Ranged, Ranged]:
    """Return a trace and a later one, whose ranges take so much longer; one range is new, and one has a new name."""
    drawn = random.uniform(20.0, 90.0, 3).tolist()
    ms = {
        f"{name} {random.integers(10, 99)}": it
        for name, it in zip(("load", "forward", "step"), drawn, strict=True)
    }
    later = {name: factor * it for name, it in ms.items()}
    later = {"load again": later.pop(next(iter(ms))), **later, "logging": 1.5}
    first, second = random.choice(
        np.arange(2, 10), 2, replace=False
    ).tolist()  # steps: never equally many
    return Ranged(random, ms, first), Ranged(random, later, second)


class RecordedStep:
    """A step with a range of each name; it counts its calls, each of which is a range, too."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names, self.calls = list(names), 0

    def __call__(self) -> None:
        self.calls += 1
        with record_function(self._call(self.calls)):
            for name in self._names:
                with record_function(name):
                    torch.ones(8).sum()

    def became(self, file: Path) -> dict[str, Any]:
        """Say how often a trace has each range, and the steps, and how many of the first two calls; or nothing."""
        try:
            data = file.read_bytes()
            events = json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)[
                "traceEvents"
            ]
            ranges_seen = [
                str(it["name"]).split("#")[0] for it in events if it.get("cat") == "user_annotation"
            ]
        except (OSError, ValueError, KeyError, TypeError):
            return {"file": False, "calls": self.calls, "early": 0, "ranges": {}}
        ranges = {text(name, 60): ranges_seen.count(name) for name in (*self._names, STEP)}
        early = sum(self._call(number) in ranges_seen for number in (1, 2))
        return {"file": True, "calls": self.calls, "early": early, "ranges": ranges}

    def _call(self, number: int) -> str:
        return f"call {number} of {self._names[0]}"


class Nightly:
    pair = staticmethod(pair)
    step = staticmethod(RecordedStep)
