"""Keeps queue.html up to date while a folder is watched."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Self

from autograder.report.estimate import foretold
from autograder.report.queue import Queue, Running, write

if TYPE_CHECKING:
    from autograder.batch.class_events import Event
    from autograder.handed_in.arrivals import Arrivals

EVERY_SECONDS = 2.0


class Waiting:
    """Follows the events of each batch, and knows who comes behind it."""

    def __init__(
        self, out: Path, lab: str, arrivals: Arrivals, now: Callable[[], float] = time.monotonic
    ) -> None:
        """Begin with nobody."""
        self._out, self._lab, self._arrivals, self._now = out, lab, arrivals, now
        self._batch: list[str] = []
        self._running: dict[str, float] = {}
        self._says: dict[str, str] = {}
        self._began = 0.0
        self._spent = 0.0
        self._graded = 0
        self._foretold: float | None = None
        self._written = -EVERY_SECONDS
        self._stopped = False
        self._left_out: Sequence[str] | None = None

    def __enter__(self) -> Self:
        """Follow a folder that is watched."""
        return self

    def __exit__(self, *_: object) -> None:
        """Say that nobody grades any more: who was being graded waits again."""
        self._stopped = True
        self._running.clear()
        self.write()

    def begins(self, names: Sequence[str]) -> None:
        """Take note of who is graded next."""
        self._batch = list(names)
        self._began = self._now()
        self.write()

    def ends(self) -> None:
        """Take note of how long they took together."""
        self._spent += self._now() - self._began
        self._graded += len(self._batch)  # what waits for another round, too
        self._batch = []
        self._running.clear()
        self.write()

    def show(self, event: Event) -> None:
        """Follow what happens; who is graded for now may wait for the clock yet."""
        name = event.submission
        if event.what == "starts":
            self._running[name] = self._now()
        elif event.what == "round" and (checks := event.facts["to_time"]):
            self._foretold = foretold(checks, event.facts["lanes"]) / event.facts["of"]
        elif event.what == "says":
            self._says[name] = event.facts["says"]
        elif name:
            self._running.pop(name, None)
            self._says.pop(name, None)
        if event.what in ("graded", "kept", "aside") and name in self._batch:
            self._batch.remove(name)
            self._graded += 1
        if self._now() - self._written >= EVERY_SECONDS:
            self.write()

    def is_news(self, left_out: Sequence[str]) -> bool:
        """Whether other uploads are graded for nobody than when that was asked last."""
        was, self._left_out = self._left_out, left_out
        return left_out != was

    def write(self) -> None:
        """Write the page."""
        self._written = self._now()
        whole, arriving = self._arrivals.outside()
        waiting = [name for name in self._batch if name not in self._running]
        write(
            self._out,
            self._lab,
            Queue(
                datetime.now().astimezone().strftime("%Y-%m-%d %H:%M:%S %z"),
                [
                    Running(name, self._now() - since, self._says.get(name, ""))
                    for name, since in self._running.items()
                ],
                [*waiting, *whole],
                arriving,
                self._each(),
                self._stopped,
            ),
        )

    def _each(self) -> float | None:
        spent = self._spent + (self._now() - self._began if self._batch else 0.0)
        return spent / self._graded if self._graded else self._foretold
