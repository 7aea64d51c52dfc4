"""What a profile teaches beyond its figures: what would help most, and where a speedup came from."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from autograder.traces.record import Rule, Trace
from autograder.traces.stack import Layer, Stack, stacks
from autograder.traces.words import NAME, many, shortened, shown, where

BAR = 30  # characters
INDENT = 6 * " "
AS_IT_IS = "as it is"
ALSO = "and "
INKS = {
    "waiting": "loading",
    "launching": "launch",
    "Python": "rest",
    "copying": "copies",
    "communicating": "comm",
    "computing": "kernels",
}
ADVISED = (
    "The largest of its own estimates, those that save most time first. "
    "They overlap, so do not add them up."
)
SUMMED = (
    "A part of the speedup is what a step saves there, over what a step takes now. "
    "1.00x and the parts add up to the ratio."
)
ODD_STEPS = 0.05
"""How far the ratio of the median steps may be from that of the mean ones and go without a word."""
CAUSES = {
    "without_data": ("no wait for data", "loading"),
    "without_sync": ("no wait for the GPU", "sync"),
    "never_idle": ("next work always ready", "kernels"),
    "at_roof": (f"{ALSO}operators at their roof", "kernels"),
}
FIRST = {
    "without_data": "the wait for data",
    "without_sync": "the wait of the host for the GPU",
}
WORTH = 1.05
"""Times as fast; less is not worth a change."""
REPLAYED = (
    "The first bar is the recording. Each bar below it is the same work without one cause of waiting: "
    "nothing else changes its length or its order."
)


@dataclass(frozen=True)
class Bar:
    """What a window takes, or would take."""

    id: str
    words: str
    colour: str
    ns: float
    ratio: float
    """How many times as fast that is as it is now."""

    @property
    def gain(self) -> str:
        """Say the ratio."""
        return f"{self.ratio:.2f}x as fast"


@dataclass(frozen=True)
class WhatIf:
    """The bars of one GPU or of the CPU, and what they say to do first."""

    bars: Sequence[Bar]
    advice: str

    def width(self, bar: Bar) -> float:
        """Say how long a bar is, in percent of the longest."""
        return 100 * bar.ns / max(other.ns for other in self.bars)


def what_if(trace: Trace) -> dict[str, WhatIf]:
    """Return what each GPU's window would take without each cause, or the CPU's."""
    shown_by_place = {}
    for name, slices in trace.breakdown.items():
        whole = sum(piece.ns for piece in slices)
        device = int(name[3:]) if name.startswith("gpu") else None
        bars = list(_bars(trace, device, whole))
        if bars:
            now = Bar("", AS_IT_IS, "rest", whole, 1.0)
            shown_by_place[where(name)] = WhatIf((now, *bars), _advice(bars, whole))
    return shown_by_place


def _bars(trace: Trace, device: int | None, whole: float) -> Iterator[Bar]:
    for id_, (words, colour) in CAUSES.items():
        ns = trace.figure(id_, device=device)
        if ns is not None:
            said = words if device is not None else words.removeprefix(ALSO)
            yield Bar(id_, said, colour, ns, whole / max(ns, 1))


def _advice(bars: Sequence[Bar], whole: float) -> str:
    """Name what to do first: the cause that is worth most, if it is worth anything."""
    best = min((bar for bar in bars if bar.id in FIRST), key=lambda bar: bar.ns, default=None)
    fed = next((bar for bar in bars if bar.id == "never_idle"), None)
    worth = best is not None and best.ratio >= WORTH
    if fed is None:
        if best is not None and worth:
            return f"Start with {FIRST[best.id]}: it takes {_share(best, whole)} of the time."
        return "Waiting for data takes next to nothing: work on the operators themselves."
    if fed.ratio < WORTH:
        return "The GPU almost always has work: work on its kernels and copies themselves."
    if best is not None and worth and 2 * (whole - best.ns) >= whole - fed.ns:
        return f"Start with {FIRST[best.id]}: without it, this would run {best.gain}."
    idle = f"The GPU has no work for {_share(fed, whole)} of the time"
    return (
        f"{idle}, mostly because the host is slow to launch it: "
        "give it larger batches, fewer and larger operators, or CUDA graphs."
    )


def _share(bar: Bar, whole: float) -> str:
    return f"{100 * (whole - bar.ns) / whole:.0f} %"


def what_if_lines(trace: Trace) -> Iterator[str]:
    """Say the bars in plain lines."""
    for name, found in what_if(trace).items():
        yield f"\n{name}: what would help most: the same work without one cause of waiting"
        for bar in found.bars:
            gain = "" if bar.words == AS_IT_IS else f"{bar.ratio:.2f}x"
            block = "█" * round(BAR * found.width(bar) / 100)
            yield f"  {bar.words:<27} {shown(bar.ns, 'ns'):>9} {gain:>8}  {block}".rstrip()
        yield f"  {found.advice}"


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

    def width(self, ns: float) -> float:
        """Say how long a piece is, in percent of the longer of both bars."""
        return 100 * ns / max(self.stack.before, self.stack.now)


def speedups(now: Trace, before: Trace) -> list[Speedup]:
    """Return the stack of each GPU that both have, or of the CPU."""
    made = []
    for stack in stacks(now, before):
        times = hundredths([stack.part(layer) for layer in stack.layers], round(stack.ratio, 2) - 1)
        parts = [Part(layer, part) for layer, part in zip(stack.layers, times, strict=True)]
        terms = "".join(f" {'-' if part < 0 else '+'} {abs(part):.2f}x" for part in times)
        said = _said(stack, parts) + _odd_steps(stack, now, before)
        made.append(Speedup(stack, parts, said, f"1.00x{terms} = {stack.ratio:.2f}x"))
    return made


def hundredths(parts: Sequence[float], whole: float) -> list[float]:
    """Round parts to hundredths that add up to the whole's.

    >>> hundredths([0.333, 0.333, 0.333], 1.0)
    [0.34, 0.33, 0.33]
    """
    low = [math.floor(100 * part) for part in parts]
    left = round(100 * whole) - sum(low)
    order = sorted(range(len(parts)), key=lambda at: low[at] - 100 * parts[at])
    for at in order[: max(left, 0)]:
        low[at] += 1
    return [part / 100 for part in low]


def _said(stack: Stack, parts: Sequence[Part]) -> str:
    """Say the ratio, and what made most of it."""
    unit = "The mean step" if stack.steps else "The recording"
    times = f"{shown(stack.now, 'ns')} instead of {shown(stack.before, 'ns')}"
    line = f"{unit} takes {times}: {stack.ratio:.2f}x as fast."
    order = sorted(parts, key=lambda part: part.times)
    least, most = order[0], order[-1]
    if stack.ratio >= 1 and most.times >= WORTH - 1:
        line += f" Most of the gain is in {most.layer.name}."
    if stack.ratio < 1 and least.times <= 1 - WORTH:
        return f"{line} Most of the loss is in {least.layer.name}."
    if least.times <= 1 - WORTH:
        line += f" {least.layer.name.capitalize()} takes longer than before."
    return line


def _odd_steps(stack: Stack, now: Trace, before: Trace) -> str:
    """Say it where a few slow steps make the mean another story than the median."""
    new, old = now.figure("step_median"), before.figure("step_median")
    if not (new and old) or abs(old / new / stack.ratio - 1) <= ODD_STEPS:
        return ""
    return f" The median step is {old / new:.2f}x as fast: the steps of one profile differ a lot."


def speedup_lines(now: Trace, before: Trace) -> Iterator[str]:
    """Say the stacks in plain lines."""
    for found in speedups(now, before):
        yield f"\n{found.place}: where the speedup comes from"
        yield f"  {'':<14} {'before':>10} {'now':>10} {'speedup':>9}"
        for part in found.parts:
            contents = found.stack.definition(part.layer)
            old, new = shown(part.layer.before, "ns"), shown(part.layer.now, "ns")
            yield f"  {part.layer.name:<14} {old:>10} {new:>10} {part.gain:>9}  {contents}"
        old, new = shown(found.stack.before, "ns"), shown(found.stack.now, "ns")
        yield f"  {'together':<14} {old:>10} {new:>10} {found.stack.ratio:>8.2f}x  {found.sum}"
        yield f"  {found.said}"
        yield f"  {SUMMED}"


@dataclass(frozen=True)
class Advice:
    """A rule of Nsight Compute as people read it."""

    rule: Rule
    kernel: str

    @property
    def estimate(self) -> str:
        """Say what it promises."""
        if self.rule.local:
            return f"{self.rule.percent:.1f} % better use of one part, maybe no less time"
        return f"up to {self.rule.percent:.1f} % less time in this kernel"

    @property
    def scope(self) -> str:
        """Say how often, and what it saves."""
        rule = self.rule
        launches = f"in {many(rule.launches, 'launch', 'launches')}" if rule.launches > 1 else ""
        saved = f"saves up to {shown(rule.saves_ns, 'ns')}" if rule.saves_ns else ""
        return ", ".join(words for words in (saved, launches) if words)


def advice(trace: Trace) -> list[Advice]:
    """Return what Nsight Compute advises, with names of kernels that are short enough."""
    names = shortened([rule.kernel for rule in trace.rules], NAME)
    return [Advice(rule, name) for rule, name in zip(trace.rules, names, strict=True)]


def advice_lines(trace: Trace) -> Iterator[str]:
    """Say the advice in plain lines."""
    if trace.rules:
        yield f"\nwhat Nsight Compute advises: {ADVISED[0].lower()}{ADVISED[1:]}"
    for found in advice(trace):
        scope = f" ({found.scope})" if found.scope else ""
        yield f"  {found.estimate}{scope}: {found.rule.name}, {found.kernel}"
        yield from textwrap.wrap(
            found.rule.text, 100, initial_indent=INDENT, subsequent_indent=INDENT
        )
