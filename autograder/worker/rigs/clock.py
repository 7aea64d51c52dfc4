"""A clock that a probe can move: real time plus an offset, in place of every timer a student may use.

It is installed before the student's file is imported, so that `from time import perf_counter` gets it too. It shows
real time until a probe advances or freezes it. Frozen, it moves by what is scripted alone, however busy the machine is.
"""

from __future__ import annotations

import time
import timeit
from collections.abc import Callable
from typing import Any, Self

# These run while the process sleeps.
ELAPSED = (
    "perf_counter",
    "monotonic",
    "time",
)
TICK_NS = 1000  # a frozen clock moves by this at each reading, so that no two readings are equal
BUSY = ("process_time", "thread_time")  # these only while it computes


class VirtualClock:
    """Real time plus scripted time."""

    def __init__(self) -> None:
        self._elapsed_ns = 0
        self._busy_ns = 0
        self._real: dict[str, Callable[[], Any]] = {}
        self._frozen: dict[str, int] = {}
        self._tick = TICK_NS
        self._wall = 1.0

    def advance(self, seconds: float, *, busy: int = 0) -> None:
        """Let *seconds* pass, in which so many threads are *busy*: timers of computing add theirs up."""
        self._elapsed_ns += round(seconds * 1e9)
        self._busy_ns += round(seconds * 1e9) * busy

    @property
    def scripted(self) -> float:
        """Seconds that it was moved by so far."""
        return self._elapsed_ns / 1e9

    def freeze(self, wall: float = 1.0, tick: int = TICK_NS) -> None:
        """Stop real time; from now on only `advance` moves the clock, and `time.time` *wall* times as far.

        So it is seen who takes times with what others may set. Each reading moves the clock by *tick* nanoseconds:
        without any, 1/16 second is the same at all times, to the last digit.
        """
        self._wall, self._tick = wall, tick
        self._frozen = {name: self._real[f"{name.removesuffix('_ns')}_ns"]() for name in self._real}

    @property
    def worked(self) -> float:
        """Seconds of computing that it was moved by so far."""
        return self._busy_ns / 1e9

    def __deepcopy__(self, _: Any) -> Self:
        """Stay the one clock, of copies of what moves it as well."""
        return self

    def __reduce__(self) -> Any:
        """Be another one, not installed, in another process and in a file."""
        return VirtualClock, ()

    def install(self) -> None:
        """Replace the timers of `time` and `timeit`, and `time.sleep`."""
        for name in (*ELAPSED, *BUSY):
            for full in (name, f"{name}_ns"):
                self._real[full] = getattr(time, full)
                setattr(time, full, self._shifted(full, busy=name in BUSY))
        self._sleep, time.sleep = time.sleep, self._slept
        self._timeit = timeit.default_timer
        timeit.default_timer = time.perf_counter
        _measure_with(self._timeit, time.perf_counter)

    def uninstall(self) -> None:
        for name, real in self._real.items():
            setattr(time, name, real)
        time.sleep = self._sleep
        self._real.clear()
        self._frozen.clear()
        _measure_with(timeit.default_timer, self._timeit)
        timeit.default_timer = self._timeit

    def _slept(self, seconds: Any) -> None:
        """Sleep; where the clock is frozen nobody waits, and it moves by as much."""
        if self._frozen:
            self.advance(seconds)
        else:
            self._sleep(seconds)

    def _shifted(self, name: str, *, busy: bool) -> Callable[[], Any]:
        real = getattr(time, name)
        whole = name.endswith("_ns")
        wall = name.startswith("time")

        def shifted() -> Any:
            if not self._frozen:
                moved = self._busy_ns if busy else self._elapsed_ns
                return real() + (moved if whole else moved / 1e9)
            self._elapsed_ns += self._tick
            passed = (
                self._busy_ns if busy else round(self._elapsed_ns * (self._wall if wall else 1.0))
            )
            now = self._frozen[name] + passed
            return now if whole else now / 1e9

        return shifted


def _measure_with(old: Callable[[], float], new: Callable[[], float]) -> None:
    """Let timeit.timeit, repeat and Timer take *new*: they bound their default when timeit was imported."""
    for function in (timeit.Timer.__init__, timeit.timeit, timeit.repeat):
        defaults = function.__defaults__ or ()
        function.__defaults__ = tuple(new if default is old else default for default in defaults)
