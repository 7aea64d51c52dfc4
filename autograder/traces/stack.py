"""Where a speedup comes from: what a step spent on each thing before, and what it spends now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from autograder.traces.breakdown import QUEUED, REST
from autograder.traces.record import Slice, Trace

GPU: Mapping[str, str] = {
    "data loading": "waiting",
    "synchronising": "waiting",
    "allocating": "waiting",
    "launching": "launching",
    REST: "launching",
    "copies": "copying",
    "communication": "communicating",
    QUEUED: "computing",
    "kernels": "computing",
}
"""Slices of the breakdown -> layers."""
CPU: Mapping[str, str] = {
    "data loading": "waiting",
    REST: "Python",
    "communication": "communicating",
    "operators": "computing",
}
LAYERS: Mapping[str, tuple[str, str]] = {
    "waiting": (
        "no GPU work while the host waits: for data, in a synchronization, for memory",
        "the wait for data",
    ),
    "launching": ("no GPU work while the host prepares it: operators, calls, Python", ""),
    "Python": ("", "neither an operator nor a wait: Python, and what was not recorded"),
    "copying": ("copies in which no kernel ran", ""),
    "communicating": (
        "communication in which no other kernel ran",
        "communication in which no operator ran",
    ),
    "computing": ("kernels, and the gaps between queued work", "operators"),
}
"""Each layer, and what is in it: on a GPU, on the CPU."""


@dataclass(frozen=True)
class Layer:
    """One thing that a step spends time on, in nanoseconds of a step."""

    name: str
    before: float
    now: float


@dataclass(frozen=True)
class Stack:
    """A step of both, of one GPU or the CPU; the layers add up to it."""

    place: str
    """As in the breakdown: gpu0, cpu."""
    layers: Sequence[Layer]
    steps: bool
    """Whether times are of a step, or of the whole recording."""

    @property
    def before(self) -> float:
        """How long a step took."""
        return sum(layer.before for layer in self.layers)

    @property
    def now(self) -> float:
        """How long a step takes."""
        return sum(layer.now for layer in self.layers)

    @property
    def ratio(self) -> float:
        """How many times as fast a step is."""
        return self.before / self.now

    def definition(self, layer: Layer) -> str:
        """Say what is in a layer."""
        return LAYERS[layer.name][self.place == "cpu"]

    def part(self, layer: Layer) -> float:
        """Return what a layer adds to the ratio: the parts and 1 add up to it."""
        return (layer.before - layer.now) / self.now


def stacks(now: Trace, before: Trace) -> Iterator[Stack]:
    """Yield a stack for each GPU that both have, or for the CPU."""
    steps = _steps(now), _steps(before)
    if bool(steps[0]) != bool(steps[1]):
        return
    for place in sorted(now.breakdown.keys() & before.breakdown.keys()):
        new = _layers(place, now.breakdown[place], steps[0] or 1)
        old = _layers(place, before.breakdown[place], steps[1] or 1)
        names = [name for name in LAYERS if name in new or name in old]
        layers = [Layer(name, old.get(name, 0.0), new.get(name, 0.0)) for name in names]
        stack = Stack(place, layers, bool(steps[0]))
        if stack.now and stack.before:
            yield stack


def _steps(trace: Trace) -> int:
    return trace.step_count if any(window.id == "steps" for window in trace.windows) else 0


def _layers(place: str, slices: Sequence[Slice], steps: int) -> dict[str, float]:
    layers: dict[str, float] = {}
    for piece in slices:
        name = (CPU if place == "cpu" else GPU).get(piece.name, "computing")
        layers[name] = layers.get(name, 0.0) + piece.ns / steps
    return layers
