"""A device whose clock and memory are scripted: it stands in for the meter that a lab hands out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import _get_current_dispatch_mode

from autograder.worker.rigs.clock import VirtualClock

OBSERVED = 3.0  # times as slow while something watches each operation, as it really is


@dataclass
class Metered:
    """Work that is queued, bytes that are held, and their peak; of a device that tells its memory or does not."""

    clock: VirtualClock
    device: torch.device
    tells: bool = True
    queued: float = 0.0
    """Seconds of work that nobody has waited for."""
    held: int = 0
    most: int = 0

    def synchronize(self) -> None:
        """Wait for what is queued; a clock of computing stands still."""
        self.clock.advance(self.queued)
        self.queued = 0.0

    def allocated(self) -> int:
        """Return the bytes that are held."""
        return self.held if self.tells else 0

    def reset_peak(self) -> None:
        """Let the peak be what is held now."""
        self.most = self.held

    def peak(self) -> int | None:
        """Return the most bytes that were held since the last reset."""
        return self.most if self.tells else None

    def needs(self, size: int, keeps: int = 0) -> None:
        """Hold so many bytes for a moment, and keep some."""
        self.most = max(self.most, self.held + size)
        self.held += keeps

    def function(
        self, seconds: Sequence[float], queued: float = 0.0, size: int = 0, busy: int = 1
    ) -> Callable[[], Any]:
        """Return a function whose calls take these seconds, one after the other, and the last for ever after.

        Such a share is queued; so many threads are *busy* for the rest. A call that is watched makes a tensor of so
        many bytes, is slower, and none of them.
        """
        left = list(seconds)

        def call() -> Any:
            if _get_current_dispatch_mode() is not None:
                self.clock.advance(OBSERVED * seconds[-1], busy=1)
                return torch.empty(size, dtype=torch.uint8)
            each = left.pop(0) if len(left) > 1 else left[0]
            self.clock.advance(each * (1 - queued), busy=busy)
            self.queued += each * queued
            return None

        return call
