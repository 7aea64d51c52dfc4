"""Functions that take scripted time and memory: to see how a student measures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import _get_current_dispatch_mode

from autograder.worker.rigs.clock import VirtualClock

OBSERVED = 3.0  # times as slow while something watches each operation, as it really is
THREADS = 2  # that compute in a call: a timer of computing adds their times up
NEXT = 1.05  # times the median: the next call by its time


class ScriptedCall:
    """A function of tensors; how long it takes and what it allocates goes by the length of the first, its dim -2.

    The first call at a length, watched or not, takes *cold* seconds more. Calls take the seconds of their length times
    the next of *pattern*, over and over: so the median of len(pattern) calls in a row is the same wherever they begin.
    """

    def __init__(
        self,
        clock: VirtualClock,
        seconds: Mapping[int, float],
        size: Mapping[int, int],
        *,
        pattern: Sequence[float],
        cold: float,
    ) -> None:
        """*size* is in bytes."""
        self._clock = clock
        self._seconds = seconds
        self._size = size
        self._pattern, self._cold = pattern, cold
        self._calls: Counter[int] = Counter()
        self._watched: Counter[int] = Counter()
        self._warm: set[int] = set()

    def __call__(self, first: Tensor, *_: Any, times: float = 1.0) -> Tensor:
        """Let time pass, hold memory for a moment, and return the first input."""
        length = first.shape[-2]
        extra = 0.0 if length in self._warm else self._cold
        self._warm.add(length)
        if _get_current_dispatch_mode() is not None:
            self._watched[length] += 1
            torch.empty(self._size.get(length, 0), dtype=torch.uint8)
            self._clock.advance(self._seconds[length] * OBSERVED + extra, busy=THREADS)
            return first
        seconds = self._seconds[length] * self._pattern[self._calls[length] % len(self._pattern)]
        self._calls[length] += 1
        self._clock.advance(seconds * times + extra, busy=THREADS)
        return first

    def counts(self, length: int) -> dict[str, int]:
        """Return how many calls of this length were watched, and how many were not."""
        return {"watched": self._watched[length], "": self._calls[length]}
