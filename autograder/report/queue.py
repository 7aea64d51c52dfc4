"""Who waits while a folder is watched, what is being graded, how long that takes: a page that loads itself again."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from autograder import sheet
from autograder.report.estimate import about
from autograder.report.html import render

FILE = "queue.html"
AGAIN_SECONDS = 10
SILENT_SECONDS = 120
"""After which nobody writes the page any more: who is killed cannot say so on it."""


@dataclass(frozen=True)
class Running:
    """One submission that is being graded."""

    name: str
    seconds: float
    says: str = ""
    """What it is at."""


@dataclass(frozen=True)
class Queue:
    """How things stand at one moment."""

    at: str
    running: Sequence[Running] = ()
    waiting: Sequence[str] = ()
    """The next one first."""
    arriving: Sequence[str] = ()
    """Whose files still change."""
    each: float | None = None
    """Seconds that a submission has taken so far, on average."""
    stopped: bool = False
    """Whether nobody grades any more."""

    def __str__(self) -> str:
        """Say it in a line."""
        if self.stopped:
            return (
                f"Grading has stopped. Waiting until it goes on: {len(self.waiting) or 'nobody'}."
            )
        left = len(self.running) + len(self.waiting)
        if not left:
            return "Nobody waits."
        counted = f"{len(self.running)} being graded, {len(self.waiting)} waiting"
        if self.each is None:
            return f"{counted}."
        spent = sum(min(it.seconds, self.each) for it in self.running)
        return f"{counted}: done in about {about(max(self.each * left - spent, self.each / 2))}."


def write(out: Path, lab: str, queue: Queue) -> None:
    """Write the page, whole."""
    page = render(
        "queue.html.j2",
        lab=lab,
        queue=queue,
        about=about,
        again=AGAIN_SECONDS,
        silent=SILENT_SECONDS,
        now=round(time.time()),
    )
    sheet.replace(out / FILE, page.encode())
