"""Sets of intervals on whole nanoseconds.

What overlaps or stays exposed follows from lengths of unions alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Spans:
    """Intervals in order that neither overlap nor touch."""

    start: Array
    end: Array

    @classmethod
    def of(cls, start: Array, end: Array) -> Self:
        """Merge intervals; empty ones vanish."""
        kept = end > start
        order = np.argsort(start[kept], kind="stable")
        start = start[kept][order]
        end = np.maximum.accumulate(end[kept][order])
        first = np.ones(len(start), bool)
        first[1:] = start[1:] > end[:-1]
        last = np.append(first[1:], True)[: len(end)]
        return cls(start[first], end[last])

    def __or__(self, other: Spans) -> Spans:
        """Return what either covers."""
        return Spans.of(
            np.concatenate([self.start, other.start]), np.concatenate([self.end, other.end])
        )

    def __bool__(self) -> bool:
        """Whether anything is covered."""
        return bool(len(self.start))

    @property
    def length(self) -> int:
        """Nanoseconds covered."""
        return int(np.sum(self.end - self.start))

    def within(self, window: tuple[int, int]) -> Spans:
        """Cut to a window."""
        return Spans.of(np.maximum(self.start, window[0]), np.minimum(self.end, window[1]))

    def gaps(self, window: tuple[int, int]) -> Array:
        """Return the lengths of what a window leaves uncovered, in order."""
        outside = self.outside(window)
        lengths: Array = outside.end - outside.start
        return lengths

    def outside(self, window: tuple[int, int]) -> Spans:
        """Return what a window leaves uncovered."""
        inside = self.within(window)
        return Spans.of(np.insert(inside.end, 0, window[0]), np.append(inside.start, window[1]))

    def hold(self, times: Array) -> Array:
        """Say of each time whether it is covered."""
        index = np.searchsorted(self.start, times, side="right")
        held: Array = (index > 0) & (np.append(self.end, 0)[index - 1] > times)
        return held

    def coverage(self, window: tuple[int, int], bins: int) -> Array:
        """Return the share of each of *bins* equal pieces of a window that is covered."""
        edges = np.linspace(window[0], window[1], bins + 1)
        shares: Array = np.diff(self.before(edges)) * bins / (window[1] - window[0])
        return shares

    def before(self, times: Array) -> Array:
        """Return how much is covered before each of these times."""
        lengths = np.concatenate([[0], np.cumsum(self.end - self.start)])
        index = np.searchsorted(self.start, times, side="right")
        ends = np.append(self.end, 0)[index - 1]
        covered: Array = lengths[index] - np.where(index > 0, np.maximum(ends - times, 0), 0)
        return covered


EMPTY = Spans(np.zeros(0, np.int64), np.zeros(0, np.int64))


def growth(layers: Mapping[str, Spans], window: tuple[int, int]) -> dict[str, int]:
    """Return how many nanoseconds of a window each layer covers that no layer before it does."""
    covered = EMPTY
    added = {}
    for name, layer in layers.items():
        wider = covered | layer.within(window)
        added[name] = wider.length - covered.length
        covered = wider
    return added


def overlap(first: Spans, second: Spans) -> int:
    """Return the nanoseconds that both cover."""
    return first.length + second.length - (first | second).length
