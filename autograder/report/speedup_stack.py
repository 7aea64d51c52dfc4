"""Where a speedup came from: parts that add up to the measured ratio, as people read them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from autograder.traces.record import Trace
from autograder.traces.stack import Layer, Stack, stacks
from autograder.traces.words import shown, where

INKS = {
    "waiting": "loading",
    "launching": "launch",
    "Python": "rest",
    "copying": "copies",
    "communicating": "comm",
    "computing": "kernels",
}
WORTH = 0.05
"""Times; a part of the ratio that is smaller is not worth a word."""
SUMMED = (
    "A part of the speedup is what {0} saves there, over what {0} takes now. "
    "1.00x and the parts add up to the ratio."
)
ODD_STEPS = 0.05
"""How far the ratio of the median steps may be from that of the mean ones and go without a word."""


@dataclass(frozen=True)
class Part:
    """A layer of a speedup, with its share of the ratio in hundredths that add up."""

    layer: Layer
    times: float

    @property
    def colour(self) -> str:
        """Return the class that colours it."""
        return INKS[self.layer.name]

    @property
    def gain(self) -> str:
        """Say what it adds to the ratio, or takes from it."""
        return f"{self.times:+.2f}x"


@dataclass(frozen=True)
class Speedup:
    """A stack as people read it."""

    stack: Stack
    parts: Sequence[Part]
    said: str
    sum: str

    @property
    def place(self) -> str:
        """Name the GPU, or the CPU."""
        return where(self.stack.place)

    @property
    def summed(self) -> str:
        """Say how the parts add up."""
        return SUMMED.format("a step" if self.stack.steps else "the recording")

    def width(self, ns: float) -> float:
        """Say how long a piece is, in percent of the longer of both bars."""
        return 100 * ns / max(self.stack.before, self.stack.now)


def speedups(now: Trace, before: Trace) -> list[Speedup]:
    """Return the stack of each GPU that both have, or of the CPU."""
    made = []
    for stack in stacks(now, before):
        times = hundredths([stack.part(layer) for layer in stack.layers], round(stack.ratio, 2) - 1)
        parts = [Part(layer, part) for layer, part in zip(stack.layers, times, strict=True)]
        terms = "".join(f" {part.gain[0]} {part.gain[1:]}" for part in parts)
        said = _said(stack, parts) + _odd_steps(stack, now, before)
        made.append(Speedup(stack, parts, said, f"1.00x{terms} = {stack.ratio:.2f}x"))
    return made


def hundredths(parts: Sequence[float], whole: float) -> list[float]:
    """Round parts to hundredths that add up to the whole's; a loss stays one, if only as -0.

    >>> hundredths([0.333, 0.333, 0.333], 1.0), hundredths([-0.004, 0.0], 0.0)
    ([0.34, 0.33, 0.33], [-0.0, 0.0])
    """
    low = [math.floor(100 * part) for part in parts]
    left = round(100 * whole) - sum(low)
    order = sorted(range(len(parts)), key=lambda at: low[at] - 100 * parts[at])
    for at in order[: max(left, 0)]:
        low[at] += 1
    return [math.copysign(part / 100, exact or 0.0) for part, exact in zip(low, parts, strict=True)]


def _said(stack: Stack, parts: Sequence[Part]) -> str:
    """Say the ratio, and what made most of it."""
    unit = "The mean step" if stack.steps else "The recording"
    times = f"{shown(stack.now, 'ns')} instead of {shown(stack.before, 'ns')}"
    line = f"{unit} takes {times}: {stack.ratio:.2f}x as fast."
    order = sorted(parts, key=lambda part: part.times)
    least, most = order[0], order[-1]
    if stack.ratio >= 1 and most.times >= WORTH:
        line += f" Most of the gain is in {most.layer.name}."
    if stack.ratio < 1 and least.times <= -WORTH:
        return f"{line} Most of the loss is in {least.layer.name}."
    if least.times <= -WORTH:
        line += f" {least.layer.name.capitalize()} takes longer than before."
    return line


def _odd_steps(stack: Stack, now: Trace, before: Trace) -> str:
    """Say it where a few slow steps make the mean another story than the median."""
    new, old = now.figure("step_median"), before.figure("step_median")
    if not (new and old) or abs(old / new / stack.ratio - 1) <= ODD_STEPS:
        return ""
    return f" The median step is {old / new:.2f}x as fast: the steps of one profile differ a lot."


def lines(now: Trace, before: Trace) -> Iterator[str]:
    """Say the stacks in plain lines."""
    for speedup in speedups(now, before):
        yield f"\n{speedup.place}: where the speedup comes from"
        yield f"  {'':<14} {'before':>10} {'now':>10} {'speedup':>9}"
        for part in speedup.parts:
            contents = speedup.stack.definition(part.layer)
            old, new = shown(part.layer.before, "ns"), shown(part.layer.now, "ns")
            yield f"  {part.layer.name:<14} {old:>10} {new:>10} {part.gain:>9}  {contents}"
        old, new = shown(speedup.stack.before, "ns"), shown(speedup.stack.now, "ns")
        yield f"  {'together':<14} {old:>10} {new:>10} {speedup.stack.ratio:>8.2f}x  {speedup.sum}"
        yield f"  {speedup.said}"
        yield f"  {speedup.summed}"
