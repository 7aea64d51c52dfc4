"""A class is graded in rounds, so that nothing is timed while anything else runs.

    first     every submission in several lanes at a time; what has to be timed is put off, and who runs out of time is
              run once more while the other lanes wait
    alone     one lane: what was under way when the grader was killed, for it may be why
    timed     one lane: the clock, for those who wait for it, one after the other
    again     one lane, examined anew: what is still undecided, once more; after three tries a person decides
    twice     one lane: some of the class, drawn by lot, on other inputs; what differs is drift, the first grade stands

The journal is written before each attempt and says what is next; whatever is killed, the next run goes on from there.
A submission that took down its lane twice is set aside for a person, with its points owed.
"""

from __future__ import annotations

import json
import os
import time
from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, Literal

from autograder.batch import store
from autograder.batch.circumstances import circumstances, machine, still_good
from autograder.batch.journal import MOST_TRIES, Journal
from autograder.batch.lanes import Go, Lane, Order, Work, among_others, figures
from autograder.errors import ReadError, UserError
from autograder.grading import scoring
from autograder.grading.grade import grade
from autograder.grading.kit import Session
from autograder.model import Device, Result, Submission
from autograder.result_file import load_result
from autograder.results import drift

TICK_SECONDS = 0.5
# Of one attempt; workers have limits of their own, so this is for a grader that hangs.
MOST_SECONDS = 3600.0
LANE_BYTES = 3 << 30  # a warm process and one worker at its usual limit
ASIDE = "set aside: its grader died each time; a person looks at what was handed in and grades it alone, elsewhere"
UNREAD = "set aside: what was kept of it cannot be read back; a person has what was handed in graded again"

What = Literal[
    "begins",
    "round",
    "starts",
    "says",
    "graded",
    "waits",
    "kept",
    "lost",
    "aside",
    "twice",
    "tick",
    "ends",
]


@dataclass(frozen=True)
class Event:
    """Something to show: what happened, to whom, in which lane."""

    what: What
    submission: str = ""
    lane: int = 0
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass
class Seat:
    """A lane, and what it is at."""

    lane: Lane
    order: Order | None = None
    digest: str = ""
    """Of what was handed in, once it is read."""
    attempt: int = 0
    """In the journal, once it has started."""
    tries: int = 0
    since: float = 0.0


@dataclass
class Rounds:
    """One run of the grader over many submissions."""

    work: Work
    session: Session
    """Of the run itself: its workers never start; it says what the machine is, and signs what is set aside."""
    journal: Journal
    seed: int
    jobs: int
    asked_seed: int | None = None
    """If one was asked for, results with another are no longer good."""
    twice: float = 0.0
    """The share of the class that is graded twice."""
    before: Mapping[str, Result] = field(default_factory=dict)
    """The results of who is graded, where some were there already."""
    now: Callable[[], float] = time.monotonic
    _round_name: str = "first"
    _waiting: list[Order] = field(default_factory=list)
    _queue: deque[Order] = field(default_factory=deque)
    _clocked: bool = False
    _lanes: int = 1
    _parts: str = "{}"

    def run(self, found: Mapping[str, Path]) -> Generator[Event, None, None]:
        """Grade all by their names, and yield what happens; close it early, and lanes and attempts are ended."""
        conditions = circumstances(self.work, self.session)
        facts = {**machine(self.session), "jobs": self.jobs}
        self._parts = conditions.parts
        self.journal.begin(conditions, self.seed, len(found), facts)
        yield Event("begins", facts={"of": len(found), "seed": self.seed, **facts})
        yield from self._untimed([Order(name, str(path)) for name, path in found.items()])
        for name in ("timed", "again"):
            orders = self._waiting
            self._waiting = []
            yield from self._round(name, orders)
        if self.twice:
            drawn = self.journal.choose(self.twice)
            yield from self._round("twice", [Order(name) for name in drawn])
        yield self._finish()

    def _untimed(self, orders: Sequence[Order]) -> Generator[Event, None, None]:
        """Grade in lanes, and then alone whom the whole grader was gone under."""
        suspects = self.journal.cut_off()
        yield from self._round("first", [order for order in orders if order.name not in suspects])
        alone = [order for order in orders if order.name in suspects]
        # Who was met most often is the likeliest to take the grader down once more: it comes last.
        yield from self._round("alone", sorted(alone, key=lambda order: suspects[order.name]))

    def _finish(self) -> Event:
        second_grades = self.journal.drift()
        drift.write(self.work.out, second_grades)
        self.journal.finish()
        differences = [str(grade) for grade in second_grades if grade.first]
        return Event("ends", facts={"undecided": len(self._waiting), "drift": differences})

    def _round(self, name: str, orders: Sequence[Order]) -> Generator[Event, None, None]:
        """Hand the orders out to lanes until all are answered."""
        self._queue, self._round_name, self._clocked = (
            deque(orders),
            name,
            name not in ("first", "alone"),
        )
        # Elsewhere each device has a clock of its own, and nobody takes down another's grader.
        lanes = self._lanes = min(
            self.jobs if name == "first" or self.work.away else 1, len(orders)
        )
        if not lanes:
            return
        yield Event("round", facts={"round": name, "of": len(orders), "lanes": lanes})
        seats = [Seat(self._lane(number + 1)) for number in range(lanes)]
        try:
            for seat in seats:
                self._next(seat)
            while busy := {seat.lane.channel: seat for seat in seats if seat.order}:
                for channel in wait(list(busy), TICK_SECONDS):
                    seat = busy[channel]  # type: ignore[index]
                    yield from self._answered(seat)
                for seat in busy.values():
                    # Elsewhere an attempt may wait in a queue; whoever grades it there keeps to the limit.
                    if seat.order and not self.work.away and self.now() - seat.since > MOST_SECONDS:
                        seat.lane.kill()
                yield Event("tick")
            for seat in seats:
                seat.lane.close()
        finally:
            self._end(seats)

    def _lane(self, number: int) -> Lane:
        work = among_others(self.work) if self._lanes > 1 else self.work
        return Lane(number, work, clocked=self._clocked, lanes=self._lanes)

    def _next(self, seat: Seat) -> None:
        seat.order, seat.digest, seat.attempt = (
            (self._queue.popleft() if self._queue else None),
            "",
            0,
        )
        if seat.order:
            seat.since = self.now()
            seat.lane.tell(seat.order)

    def _answered(self, seat: Seat) -> Generator[Event, None, None]:
        assert seat.order is not None
        said = seat.lane.hear()
        if said is None:
            yield self._lost(seat, seat.order)
        elif "stop" in said:
            raise UserError(f"{said['stop']}; mend that, then go on with --resume")
        elif "unread" in said:
            yield self._unread(seat, seat.order, said["unread"])
        elif "sha256" in said:
            seat.digest = said["sha256"]
            yield self._read(seat, seat.order)
        elif "says" in said:
            yield Event("says", seat.order.name, seat.lane.number, said)
        elif said["outcome"] in ("lost", "cut off"):
            yield self._gone(seat, seat.order, said)
        else:
            yield self._judged(seat, seat.order, said)
        if not seat.attempt:
            self._next(seat)

    def _read(self, seat: Seat, order: Order) -> Event:
        """Decide, now that it is known what was handed in, whether there is anything to do."""
        if self._round_name == "twice":
            seat.attempt = self.journal.start(order.name, seat.digest, twice=True)
            seat.lane.tell(Go(self.seed + 1, last=False, twice=True, round=self._round_name))
            return Event("starts", order.name, seat.lane.number, {"attempt": 2})
        history = self.journal.history(order.name, seat.digest, self.asked_seed)
        standing = history.standing
        if standing != "aside" and history.result_sha256 != store.digest(order.name, self.work.out):
            standing = "new"
        if standing != "aside" and (self._clocked or standing == "new"):
            good = {} if self._clocked else self._good(order, seat.digest)
            seat.attempt, seat.tries = (
                self.journal.start(order.name, seat.digest),
                history.tries + 1,
            )
            seat.lane.tell(
                Go(self.seed, last=seat.tries >= MOST_TRIES, good=good, round=self._round_name)
            )
            return Event(
                "starts", order.name, seat.lane.number, {"attempt": len(history.outcomes) + 1}
            )
        seat.lane.tell(None)
        if standing == "aside":
            return self._aside(seat, order)
        facts = figures(self._so_far(order.name))
        return self._done(seat, order, "kept", facts, waits=standing in ("timing", "again"))

    def _good(self, order: Order, digest: str) -> dict[str, list[str]]:
        """Say what of a result that no longer counts as a whole still does: the files are the same, a part is not."""
        before = self.journal.before(order.name, digest, self.asked_seed)
        same = before.result_sha256 == store.digest(order.name, self.work.out)
        return still_good(before.parts, self._parts) if before.result_sha256 and same else {}

    def _judged(self, seat: Seat, order: Order, said: dict[str, Any]) -> Event:
        outcome, attempt, seat.attempt = said.pop("outcome"), seat.attempt, 0
        if outcome == "twice":
            self.journal.end(attempt, outcome, note=json.dumps(said["moved"]))
            return Event("twice", order.name, seat.lane.number, said)
        self.journal.end(attempt, outcome, said.pop("result_sha256"), said.pop("note"))
        waits = outcome == "timing" or (outcome == "again" and seat.tries < MOST_TRIES)
        return self._done(seat, order, "graded", said, waits=waits)

    def _done(
        self, seat: Seat, order: Order, what: What, facts: dict[str, Any], *, waits: bool
    ) -> Event:
        if waits:
            self._waiting.append(Order(order.name))
        return Event("waits" if waits else what, order.name, seat.lane.number, facts)

    def _lost(self, seat: Seat, order: Order) -> Event:
        """Note that a lane died, and start another."""
        why, twice = seat.lane.bury(), self._round_name == "twice"
        self.journal.end(
            seat.attempt or self.journal.start(order.name, seat.digest, twice=twice),
            "lost",
            note=why,
        )
        seat.attempt, seat.lane = 0, self._lane(seat.lane.number)
        return self._once_more(seat, order, why)

    def _gone(self, seat: Seat, order: Order, said: dict[str, Any]) -> Event:
        """Note that who graded elsewhere is gone; the lane is not."""
        self.journal.end(seat.attempt, said["outcome"], note=said["note"])
        seat.attempt = 0
        return self._once_more(seat, order, said["note"])

    def _once_more(self, seat: Seat, order: Order, why: str) -> Event:
        """Try the submission again after the others, unless that was tried often enough; a second grade is not."""
        if self._round_name == "twice":
            return _not_twice(seat, order, why)
        if self.journal.history(order.name, seat.digest).standing == "aside":
            return self._aside(seat, order)
        self._queue.append(order)
        return Event("lost", order.name, seat.lane.number, {"why": why})

    def _unread(self, seat: Seat, order: Order, why: str) -> Event:
        """Leave to a person what cannot be read back; nobody died of it, and the lane goes on."""
        twice = self._round_name == "twice"
        self.journal.end(self.journal.start(order.name, seat.digest, twice=twice), "lost", note=why)
        return _not_twice(seat, order, why) if twice else self._aside(seat, order, UNREAD, why)

    def _aside(
        self,
        seat: Seat,
        order: Order,
        refusal: str = ASIDE,
        why: str = "its grader died each time",
    ) -> Event:
        """Write a result that owes to a person whatever was not judged before."""
        before = None
        if self._clocked:
            with suppress(ReadError):
                before = load_result(self.work.out / order.name / store.RESULT)
        nothing = Submission(order.name, seat.digest, {})
        result = grade(
            nothing, self.work.kit, self.session,
            seed=self.seed, parts=self.work.parts, only=self.work.only, settled=before, refusal=refusal,
        )  # fmt: skip
        result = scoring.left_to_a_person(result)
        store.save(result, self.work.out)
        return Event("aside", order.name, seat.lane.number, {**figures(result), "why": why})

    def _so_far(self, name: str) -> Result:
        """Return a result that this run leaves as it is."""
        if name in self.before:
            return self.before[name]
        return load_result(self.work.out / name / store.RESULT)

    def _end(self, seats: Sequence[Seat]) -> None:
        """End what still runs; what was under way is repeated another time."""
        for seat in seats:
            seat.lane.bury()
        with suppress(UserError):  # of the journal, when that is why all ends
            self.journal.stop()


def _not_twice(seat: Seat, order: Order, why: str) -> Event:
    return Event("twice", order.name, seat.lane.number, {"moved": [["all", "graded", why]]})


def lanes_for(device: Device) -> int:
    """Say how many lanes suit this machine: one for each core, as far as memory goes; on a GPU one."""
    if device.kind != "cpu":
        return 1
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(1, min(len(os.sched_getaffinity(0)), memory // LANE_BYTES))
