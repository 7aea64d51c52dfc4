"""What would help most: the same work without what slows it down, and what to do first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from autograder.traces.record import Trace
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
WORTH = 1.05
"""Times as fast; less is not worth a change."""
REPLAYED = (
    "The first bar is the recording. "
    "Each bar below it is the same work without one thing that slows it down. "
    "Everything else keeps its length and its order. The definitions stand with the figures."
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
        start = f"Start with {FIRST[best.id]}: without it, this would run {best.gain}."
        return (
            f"{start} That is most of what a GPU that is never idle would gain ({fed.ratio:.2f}x)."
        )
    idle = f"The GPU has no work for {_share(fed, whole)} of the time"
    return (
        f"{idle}, mostly because the host is slow to launch it: "
        "give it larger batches, fewer and larger operators, or CUDA graphs."
    )


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
