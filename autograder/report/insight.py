"""What would help most: the same work without what slows it down, and what to do first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from autograder.traces.breakdown import REST
from autograder.traces.record import Slice, Trace
from autograder.traces.words import shown, where

BAR = 30  # characters
AS_IT_IS = "as it is"
ALSO = "and "
CAUSES = {
    "without_data": ("no wait for data", "loading"),
    "without_sync": ("no wait for the GPU", "sync"),
    "never_idle": ("GPU never idle", "kernels"),
    "at_roof": (f"{ALSO}operators at their roof", "kernels"),
}
FIRST = {
    "without_data": "the wait for data",
    "without_sync": "the wait of the host for the GPU",
}
ON_CPU = {
    "operators": "Operators take {} of the time: work on the operators themselves.",
    "communication": (
        "Communication in which no operator runs takes {} of the time: "
        "send less, or send while operators run."
    ),
    "data loading": "Waiting for data takes {} of the time: start there.",
    REST: (
        "Python, and what was not recorded, takes {} of the time: "
        "use fewer and larger operators, and look at the ranges."
    ),
}
"""Slices of the breakdown -> what to do about the largest."""
WHILE_IDLE = {
    "launching": (
        ", {} while the host launches work: "
        "give it larger batches, fewer and larger operators, or CUDA graphs."
    ),
    "data loading": ", {} while the host waits for data: load it earlier or faster.",
    "synchronising": ", {} while the host waits for the GPU: synchronize less often.",
    "allocating": ", {} while the host allocates memory: allocate it once.",
    REST: (
        ", {} while the host runs Python or what was not recorded: "
        "look at the ranges for what that is."
    ),
}
STILL_WAITS = (
    " The host also waits for the GPU, in synchronizations or copies of pageable memory, "
    "but to remove only that wait would gain next to nothing."
)
WORTH = 1.05
"""Times as fast; less is not worth a change."""
REPLAYED = (
    "The first bar is the recording. "
    "Each bar below it is the same work without one thing that slows it down. "
    "Everything else keeps its length and its order, "
    "and a call that waits for the GPU returns when its work is done. "
    "The definitions stand with the figures."
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
            bars = [Bar("", AS_IT_IS, "rest", whole, 1.0), *bars]
            shown_by_place[where(name)] = WhatIf(bars, _advice(bars, slices))
    return shown_by_place


def _bars(trace: Trace, device: int | None, whole: float) -> Iterator[Bar]:
    for id_, (words, colour) in CAUSES.items():
        ns = trace.figure(id_, device=device)
        if ns is not None:
            said = words if device is not None else words.removeprefix(ALSO)
            yield Bar(id_, said, colour, ns, whole / max(ns, 1))


def _advice(bars: Sequence[Bar], slices: Sequence[Slice]) -> str:
    """Name what to do first: the cause that is worth most, if it is worth anything."""
    whole = bars[0].ns
    best = min((bar for bar in bars if bar.id in FIRST), key=lambda bar: bar.ns, default=None)
    best = best if best is not None and best.ratio >= WORTH else None
    fed = next((bar for bar in bars if bar.id == "never_idle"), None)
    if fed is None:
        others = [it.ns for it in slices if it.name in ON_CPU and it.name != "data loading"]
        if best is not None and whole - best.ns >= max(others, default=0):
            return f"Start with {FIRST[best.id]}: it takes {_share(best, whole)} of the time."
        return _largest(slices, ON_CPU)
    if fed.ratio < WORTH:
        return "The GPU almost always has work: work on its kernels and copies themselves."
    if best is not None and 2 * (whole - best.ns) >= whole - fed.ns:
        start = f"Start with {FIRST[best.id]}: without it, this would run {best.gain}."
        most = "That is most of what a GPU that is never idle would gain"
        return f"{start} {most} ({fed.ratio:.2f}x).{_waits(bars)}"
    idle = f"The GPU has no work for {_share(fed, whole)} of the time"
    return f"{idle}{_largest(slices, WHILE_IDLE)}{_waits(bars)}"


def _largest(slices: Sequence[Slice], advice: Mapping[str, str]) -> str:
    """Say what to do about the largest of some slices."""
    largest = max((piece for piece in slices if piece.name in advice), key=lambda piece: piece.ns)
    percent = 100 * largest.ns / sum(piece.ns for piece in slices)
    return advice[largest.name].format(f"{percent:.0f} %")


def _waits(bars: Sequence[Bar]) -> str:
    """Say of waits for the GPU that are worth nothing that there are some."""
    bar = next((bar for bar in bars if bar.id == "without_sync"), None)
    return STILL_WAITS if bar is not None and bar.ratio < WORTH else ""


def _share(bar: Bar, whole: float) -> str:
    return f"{100 * (whole - bar.ns) / whole:.0f} %"


def what_if_lines(trace: Trace) -> Iterator[str]:
    """Say the bars in plain lines."""
    for name, gains in what_if(trace).items():
        yield f"\n{name}: what would help most: the same work without one thing that slows it down"
        for bar in gains.bars:
            gain = "" if bar.words == AS_IT_IS else f"{bar.ratio:.2f}x"
            block = "█" * round(BAR * gains.width(bar) / 100)
            yield f"  {bar.words:<27} {shown(bar.ns, 'ns'):>9} {gain:>8}  {block}".rstrip()
        yield f"  {gains.advice}"
