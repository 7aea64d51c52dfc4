"""The last examination of this machine, kept for an hour: the next session only looks again whether it still holds."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from autograder import sheet
from autograder.errors import ReadError
from autograder.records import from_json, to_json

GOOD_SECONDS = 3600.0
BUSIER = 1.0
"""As a load average: a machine that has so much more to do than then is another one."""
BOOT = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True)
class Examined:
    """What an examination found, and under which circumstances."""

    boot: str
    at: float
    """Seconds, as time.time has them."""
    load: float
    pairs: int
    noise: float
    margin: float
    windows: int
    interrupted: float


class Memory(Protocol):
    """Where the last examination is kept."""

    def recall(self) -> Examined | None:
        """Return it, if it may still hold."""
        ...

    def keep(self, pairs: int, noise: float, margin: float, windows: int, taken: float) -> None:
        """Keep an examination that was made now."""


class Nowhere:
    """Keeps nothing."""

    def recall(self) -> None:
        """Remember nothing."""

    def keep(self, *_: float) -> None:
        """Forget it."""


class InCache:
    """Keeps it in the cache of this user, where no submission can write."""

    def __init__(
        self,
        device: str,
        folder: Path | None = None,
        now: Callable[[], float] = time.time,
        load: Callable[[], float] = lambda: os.getloadavg()[0],
        boot: Path = BOOT,
    ) -> None:
        """Name the device: the processor, or a GPU by its UUID."""
        self._file = (folder or _cache()) / f"examined-{device}.json"
        self._now, self._load = now, load
        self._boot = boot.read_text(encoding="ascii").strip() if boot.is_file() else ""

    def recall(self) -> Examined | None:
        """Return it, unless it is old, of before a restart, or of a machine with less to do."""
        try:
            kept = from_json(Examined, json.loads(self._file.read_text("utf-8")), str(self._file))
        except (OSError, ValueError, ReadError):
            return None
        is_young = 0 <= self._now() - kept.at < GOOD_SECONDS
        is_alike = kept.boot == self._boot and self._load() - kept.load < BUSIER
        return kept if is_young and is_alike else None

    def keep(self, pairs: int, noise: float, margin: float, windows: int, taken: float) -> None:
        """Write it; a cache that cannot be written to only costs time."""
        now = Examined(self._boot, self._now(), self._load(), pairs, noise, margin, windows, taken)
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            sheet.replace(self._file, json.dumps(to_json(now)).encode())
        except OSError:
            return


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "perflab"
