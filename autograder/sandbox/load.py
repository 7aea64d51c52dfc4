"""Timed loading: an epoch of a DataLoader over samples that are first there when the clock runs.

    GO -> ANSWER, a commitment to each sample, sizes of batches      the clock runs; the store answers each read late

The loader is built before, once. The baseline's side reads the same samples: what was left out,
repeated, kept from another epoch or put together from two samples is not among its commitments.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from autograder.protocol.digest import Epoch, differing
from autograder.sandbox.slow_store import Store
from autograder.sandbox.windows import Talk, generator

SAMPLES = 32  # in an epoch: seven pairs of 14 windows and more have to fit into 40 s
READ_SECONDS = (0.0025, 0.005)  # for one sample; 32 of them, one after the other, take 0.12 s
BEFORE = 1 << 32  # the turn of the epoch that comes before the first window


@dataclass
class Load:
    """What one pair is asked, and what it answered."""

    count: int
    """Samples in an epoch."""
    seed: int
    """Secret."""
    fewer: int = 0
    """Samples of the side named student, where that is not all of them: a canary."""
    now: Callable[[], float] = time.monotonic
    _stores: dict[str, Store] = field(default_factory=dict)
    _loaded: dict[int, dict[str, Epoch]] = field(default_factory=dict)

    def store(self, side: str) -> Store:
        """Open a store for a fresh worker; while its loader is built, it can read as well."""
        self._stores[side] = Store(
            self.fewer if self.fewer and side == "student" else self.count, self.now
        )
        self._fill(side, BEFORE)
        return self._stores[side]

    def window(self, talk: Talk, side: str, turn: int) -> float:
        """Time one epoch."""
        self._fill(side, turn)
        began = self.now()
        talk.say("GO", {})
        answer = talk.hear(
            "ANSWER", {}, {"commitments": ("uint8", (-1,)), "sizes": ("int64", (-1,))}
        )
        seconds = self.now() - began
        self._loaded.setdefault(turn, {})[side] = Epoch(**answer.arrays)
        return seconds

    def agree(self, turn: int) -> str:
        """Say how the samples of both sides differ, or nothing."""
        if len(self._loaded[turn]) < 2:
            return ""
        sides = self._loaded.pop(turn)
        return differing(sides["student"], sides["baseline"], self.fewer)

    def settle(self, talk: Talk) -> str:  # noqa: ARG002 every sample was compared window by window
        """Have no question left."""
        return ""

    def bytes_of_one(self) -> int:
        """Say how large a sample's key is."""
        return 8

    def _fill(self, side: str, turn: int) -> None:
        random = generator(self.seed, turn)
        keys = random.integers(1, 1 << 63, self.count, dtype="uint64")
        self._stores[side].fill(keys, random.uniform(*READ_SECONDS, self.count))
