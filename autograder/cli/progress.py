"""A class being graded, as it happens: a live table on a terminal, plain lines elsewhere, JSON for programs."""

from __future__ import annotations

import json
import shlex
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import click

from autograder.report.estimate import about, foretold
from autograder.report.outcome_words import clean

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live

    from autograder.batch.class_events import Event

ROUNDS = {
    "first": "untimed checks, {lanes} submission(s) at a time",
    "alone": "one at a time: what was under way when the grader was killed",
    "timed": "timed checks, one at a time on each device, and faults of the grader once more",
    "again": "once more: what is still undecided",
    "twice": "a second grade, on other inputs, for some drawn by lot: how far grades can be trusted",
}
SAID = {
    "graded": "",
    "waits": ", waits for its next round",
    "kept": ", unchanged since it was graded",
    "aside": ", set aside: {why}",
}
SHORT = 0.05  # seconds: nothing was run
QUIET_SECONDS = 20.0  # at the most, where nothing moves and something is said


class Busy(NamedTuple):
    """What a lane is at."""

    submission: str
    since: float
    says: str = ""


class Progress:
    """Shows events; a context, since a live table has to be taken off the screen."""

    def __init__(
        self, console: Console, *, as_json: bool = False, now: Callable[[], float] = time.monotonic
    ) -> None:
        """Nothing has happened yet."""
        self._console, self._as_json, self._now = console, as_json, now
        self._of, self._counts = 0, Counter[str]()
        self._round: dict[str, Any] = {}
        self._answered, self._since, self._printed = 0, 0.0, 0.0
        self._lanes: dict[int, Busy] = {}
        self._live: Live | None = None

    def __enter__(self) -> Self:
        """Take a part of the screen, if there is one."""
        if self._console.is_terminal and not self._as_json:
            from rich.live import Live

            # No thread of its own: lanes are forked.
            self._live = Live(console=self._console, auto_refresh=False, transient=True)
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Give the screen back; who was interrupted is told how to go on."""
        if self._live is not None:
            self._live.stop()
        if kind is KeyboardInterrupt:
            words = [word for word in sys.argv[1:] if word != "--resume"]
            again = shlex.join(["perflab", *words, "--resume"])
            click.echo(f"\n{self.done} of {self._of} are done; go on with\n  {again}", err=True)

    def show(self, event: Event) -> None:
        """Take note of an event and show it."""
        self._note(event)
        if self._as_json and event.what != "tick":
            click.echo(
                json.dumps(
                    {"event": event.what, **_named(event), **event.facts, **self._standing()}
                )
            )
        elif not self._as_json and (line := self._line(event)):
            self._console.print(line, soft_wrap=True, highlight=False, markup=False)
            self._printed = self._now()
        if self._live is not None:
            self._live.update(self._table(), refresh=True)

    @property
    def done(self) -> int:
        """Submissions that nothing more happens to in this run, as far as one can tell now."""
        return sum(self._counts[what] for what in ("graded", "kept", "aside"))

    def left(self) -> str:
        """Estimate the end of this round from what it has done so far."""
        remaining = self._round.get("of", 0) - self._answered
        if not self._answered or remaining <= 0:
            return ""
        seconds = (self._now() - self._since) / self._answered * remaining
        return f"about {about(seconds)} left in this round"

    def _note(self, event: Event) -> None:
        if event.what == "begins":
            self._of = event.facts["of"]
        elif event.what == "round":
            self._round, self._answered, self._since = event.facts, 0, self._now()
        elif event.what == "starts":
            self._lanes[event.lane] = Busy(event.submission, self._now())
        elif event.what == "says":
            self._lanes[event.lane] = self._lanes[event.lane]._replace(says=event.facts["says"])
        elif event.what in ("lost", "twice", *SAID):
            self._lanes.pop(event.lane, None)
            self._counts[event.what] += 1
            self._answered += event.what != "lost"

    def _line(self, event: Event) -> str:
        name = clean(event.submission)
        if event.what == "round":
            said = ROUNDS[event.facts["round"]].format(**event.facts)
            return f"-- {said} ({event.facts['of']}{_foretold(event.facts)})"
        if event.what == "says":
            quiet = self._live is None and self._now() - self._printed >= QUIET_SECONDS
            return f"{self._margin()}  {name:<28} {event.facts['says']}" if quiet else ""
        if event.what == "lost":
            return f"{self._margin()}  {name:<28} {event.facts['why']}; it is tried again after the others"
        if event.what in SAID:
            points = "{score:g} of {max_score:g}, {owed:g} owed".format(**event.facts)
            said = SAID[event.what].format(**event.facts)
            took = event.facts["seconds"]
            seconds = f"  ({took:.1f} s)" if took >= SHORT else ""
            return f"{self.done:>3}/{self._of}  {name:<28} {points}{clean(said)}{seconds}"
        if event.what == "twice":
            moved = len(event.facts["moved"])
            said = f"{moved} of its checks came out differently" if moved else "the same"
            return f"{self._margin()}  {name:<28} {said}"
        return "\n".join(_last_words(event.facts)) if event.what == "ends" else ""

    def _margin(self) -> str:
        return " " * len(f"{self.done:>3}/{self._of}")

    def _standing(self) -> dict[str, int]:
        return {"done": self.done, "running": len(self._lanes), "of": self._of}

    def _table(self) -> RenderableType:
        from rich.table import Table

        table = Table.grid(padding=(0, 2))
        running = len(self._lanes)
        counts = f"{self.done} of {self._of} done, {running} running, {self._of - self.done - running} waiting"
        table.add_row("", ", ".join(filter(None, (counts, self.left()))))
        for number in range(1, self._round.get("lanes", 0) + 1):
            busy = self._lanes.get(number)
            doing = (
                f"{clean(busy.submission)}  {self._now() - busy.since:.0f} s  {busy.says}"
                if busy
                else ""
            )
            table.add_row(f"lane {number}", doing)
        return table


def _last_words(facts: dict[str, Any]) -> Iterator[str]:
    if many := facts["undecided"]:
        yield f"{many} submission(s) have points that are still undecided; done again, they are tried once more"
    for line in facts["drift"]:
        yield f"graded twice, and not the same: {clean(line)}; the first grade stands"


def _foretold(facts: dict[str, Any]) -> str:
    """Say how many checks are timed, and how long that takes about."""
    checks = facts.get("to_time", 0)
    if not checks:
        return ""
    return f", {checks} timed check(s): about {about(foretold(checks, facts['lanes']))}"


def _named(event: Event) -> dict[str, Any]:
    return {"submission": event.submission, "lane": event.lane} if event.submission else {}
