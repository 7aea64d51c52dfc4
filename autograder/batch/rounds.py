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
import time
from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from autograder.batch import store
from autograder.batch.circumstances import circumstances, machine, still_good
from autograder.batch.class_events import Event, What
from autograder.batch.history import MOST_TRIES, History
from autograder.batch.journal import Journal
from autograder.batch.lanes import Go, Lane, Order, Work, among_others, figures
from autograder.errors import ReadError, UserError
from autograder.grading import scoring
from autograder.grading.grade import grade
from autograder.grading.kit import Session
from autograder.model import Result, Submission
from autograder.result_file import load_result
from autograder.results import agenda, drift

TICK_SECONDS = 0.5
# Of one attempt; workers have limits of their own, so this is for a grader that hangs.
MOST_SECONDS = 3600.0
DIED = "its grader died each time"
ASIDE = "set aside: its grader died each time; a person looks at what was handed in and grades it alone, elsewhere"
UNREAD = "set aside: what was kept of it cannot be read back; a person has what was handed in graded again"


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

    def event(self, what: What, facts: dict[str, Any]) -> Event:
        """Return what happened to the submission that it is at."""
        assert self.order is not None
        return Event(what, self.order.name, self.lane.number, facts)


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

    def run(self, paths: Mapping[str, Path]) -> Generator[Event, None, None]:
        """Grade all by their names, and yield what happens; close it early, and lanes and attempts are ended."""
        conditions = circumstances(self.work, self.session)
        facts = {**machine(self.session), "jobs": self.jobs}
        self._parts = conditions.parts
        self.journal.begin(conditions, self.seed, len(paths), facts)
        yield Event("begins", facts={"of": len(paths), "seed": self.seed, **facts})
        yield from self._untimed([Order(name, str(path)) for name, path in paths.items()])
        for name in ("timed", "again"):
            orders = self._waiting
            self._waiting = []
            yield from self._round(name, orders)
        if self.twice:
            drawn = self.journal.choose(self.twice, self._was_judged)
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
        self._queue = deque(orders)
        self._round_name = name
        self._clocked = name not in ("first", "alone")
        self._lanes = min(self._most_lanes(), len(orders))
        if not orders:
            return
        to_time = sum(order.to_time for order in orders)
        facts = {"round": name, "of": len(orders), "lanes": self._lanes, "to_time": to_time}
        yield Event("round", facts=facts)
        seats = [Seat(self._lane(number + 1)) for number in range(self._lanes)]
        try:
            yield from self._serve(seats)
            for seat in seats:
                seat.lane.close()
        finally:
            self._end(seats)

    def _most_lanes(self) -> int:
        # Elsewhere each device has a clock of its own, and nobody takes down another's grader.
        return self.jobs if self._round_name == "first" or self.work.away else 1

    def _serve(self, seats: Sequence[Seat]) -> Generator[Event, None, None]:
        """Listen to all lanes until none of them has anything to do."""
        for seat in seats:
            self._next(seat)
        while busy := {seat.lane.channel: seat for seat in seats if seat.order}:
            for channel in wait(list(busy), TICK_SECONDS):
                seat = busy[channel]  # type: ignore[index]
                yield from self._answered(seat)
            for seat in busy.values():
                if self._hangs(seat):
                    seat.lane.kill()
            yield Event("tick")

    def _hangs(self, seat: Seat) -> bool:
        """Whether an attempt takes too long; elsewhere it may wait in a queue, and whoever grades it has a limit."""
        if seat.order is None or self.work.away:
            return False
        return self.now() - seat.since > MOST_SECONDS

    def _lane(self, number: int) -> Lane:
        work = among_others(self.work) if self._lanes > 1 else self.work
        return Lane(number, work, clocked=self._clocked, lanes=self._lanes)

    def _next(self, seat: Seat) -> None:
        seat.order = None
        seat.digest = ""
        seat.attempt = 0
        if self._queue:
            seat.order = self._queue.popleft()
            seat.since = self.now()
            seat.lane.tell(seat.order)

    def _answered(self, seat: Seat) -> Generator[Event, None, None]:
        assert seat.order is not None
        answer = seat.lane.hear()
        if answer is None:
            yield self._lost(seat, seat.order)
        elif "stop" in answer:
            raise UserError(f"{answer['stop']}; mend that, then go on with --resume")
        elif "unread" in answer:
            yield self._unread(seat, seat.order, answer["unread"])
        elif "sha256" in answer:
            seat.digest = answer["sha256"]
            yield self._decided(seat, seat.order)
        elif "says" in answer:
            yield seat.event("says", answer)
        elif answer["outcome"] in ("lost", "cut off"):
            yield self._gone(seat, seat.order, answer)
        else:
            yield self._judged(seat, answer)
        if not seat.attempt:
            self._next(seat)

    def _decided(self, seat: Seat, order: Order) -> Event:
        """Decide, now that it is known what was handed in, whether there is anything to do."""
        if self._round_name == "twice":
            return self._started_again(seat, order)
        history = self.journal.history(order.name, seat.digest, self.asked_seed)
        standing = history.standing
        if standing == "aside":
            seat.lane.tell(None)
            return self._still_aside(seat, order)
        if history.result_sha256 != store.digest(order.name, self.work.out):
            standing = "new"
        if self._clocked or standing == "new":
            return self._started(seat, order, history)
        seat.lane.tell(None)
        facts = figures(self._result_before(order.name), self.work.out)
        return self._settled(seat, "kept", facts, waits=standing in ("timing", "again"))

    def _started(self, seat: Seat, order: Order, history: History) -> Event:
        seat.attempt = self.journal.start(order.name, seat.digest)
        seat.tries = history.tries + 1
        last = seat.tries >= MOST_TRIES
        good = {} if self._clocked else self._good(order, seat.digest)
        seat.lane.tell(Go(self.seed, last=last, good=good, round=self._round_name))
        facts = {"attempt": len(history.outcomes) + 1, "sha256": seat.digest}
        return seat.event("starts", facts)

    def _started_again(self, seat: Seat, order: Order) -> Event:
        """Grade a second time, on other inputs."""
        seat.attempt = self.journal.start(order.name, seat.digest, twice=True)
        seat.lane.tell(Go(self.seed + 1, last=False, twice=True, round=self._round_name))
        return seat.event("starts", {"attempt": 2, "sha256": seat.digest})

    def _good(self, order: Order, digest: str) -> dict[str, list[str]]:
        """Name what still counts of a result that as a whole does not: the files are the same, a part is not."""
        before = self.journal.before(order.name, digest, self.asked_seed)
        on_disk = store.digest(order.name, self.work.out)
        if not before.result_sha256 or before.result_sha256 != on_disk:
            return {}
        return still_good(before.parts, self._parts)

    def _judged(self, seat: Seat, answer: dict[str, Any]) -> Event:
        outcome = answer.pop("outcome")
        attempt = seat.attempt
        seat.attempt = 0
        if outcome == "twice":
            self.journal.end(attempt, outcome, note=json.dumps(answer["moved"]))
            return seat.event("twice", answer)
        self.journal.end(attempt, outcome, answer.pop("result_sha256"), answer.pop("note"))
        undecided = outcome == "again" and seat.tries < MOST_TRIES
        return self._settled(seat, "graded", answer, waits=outcome == "timing" or undecided)

    def _settled(self, seat: Seat, what: What, facts: dict[str, Any], *, waits: bool) -> Event:
        assert seat.order is not None
        if waits:
            self._waiting.append(Order(seat.order.name, to_time=facts["to_time"]))
        none_follows = self._round_name == "again"
        return seat.event("waits" if waits and not none_follows else what, facts)

    def _lost(self, seat: Seat, order: Order) -> Event:
        """Note that a lane died, and start another."""
        reason = seat.lane.bury()
        attempt = seat.attempt or self._attempt(seat, order)
        self.journal.end(attempt, "lost", note=reason)
        seat.attempt = 0
        seat.lane = self._lane(seat.lane.number)
        return self._once_more(seat, order, reason)

    def _attempt(self, seat: Seat, order: Order) -> int:
        """Note an attempt that ended before it could start."""
        twice = self._round_name == "twice"
        return self.journal.start(order.name, seat.digest, twice=twice)

    def _gone(self, seat: Seat, order: Order, answer: dict[str, Any]) -> Event:
        """Note that who graded elsewhere is gone; the lane is not."""
        self.journal.end(seat.attempt, answer["outcome"], note=answer["note"])
        seat.attempt = 0
        return self._once_more(seat, order, answer["note"])

    def _once_more(self, seat: Seat, order: Order, reason: str) -> Event:
        """Try the submission again after the others, unless that was tried often enough; a second grade is not."""
        if self._round_name == "twice":
            return _not_twice(seat, reason)
        if self.journal.history(order.name, seat.digest).standing == "aside":
            return self._aside(seat, order)
        self._queue.append(order)
        return seat.event("lost", {"why": reason})

    def _unread(self, seat: Seat, order: Order, reason: str) -> Event:
        """Leave to a person what cannot be read back; nobody died of it, and the lane goes on."""
        self.journal.end(self._attempt(seat, order), "lost", note=reason)
        if self._round_name == "twice":
            return _not_twice(seat, reason)
        return self._aside(seat, order, UNREAD, reason)

    def _aside(
        self,
        seat: Seat,
        order: Order,
        refusal: str = ASIDE,
        reason: str = DIED,
    ) -> Event:
        """Write a result that owes to a person whatever was not judged before."""
        result = grade(
            Submission(order.name, seat.digest, {}),
            self.work.kit,
            self.session,
            seed=self.seed,
            parts=self.work.parts,
            only=self.work.only,
            settled=self._judged_before(order.name),
            refusal=refusal,
        )
        result = scoring.left_to_a_person(result)
        store.save(result, self.work.out)
        return seat.event("aside", {**figures(result, self.work.out), "why": reason})

    def _still_aside(self, seat: Seat, order: Order) -> Event:
        """Leave the result: it has what was judged before its grader died, and a person may have set the rest."""
        with suppress(ReadError):
            result = load_result(self.work.out / order.name / store.RESULT)
            if result.submission_sha256 == seat.digest and agenda.is_aside(result):
                facts = {**figures(result, self.work.out), "why": DIED}
                waits = agenda.is_aside(self._result_before(order.name))
                return seat.event("aside" if waits else "kept", facts)
        return self._aside(seat, order)

    def _judged_before(self, name: str) -> Result | None:
        """Return what the round before left, while the clock runs."""
        if self._clocked:
            with suppress(ReadError):
                return load_result(self.work.out / name / store.RESULT)
        return None

    def _result_before(self, name: str) -> Result:
        """Return a result that this run leaves as it is."""
        if name in self.before:
            return self.before[name]
        return load_result(self.work.out / name / store.RESULT)

    def _was_judged(self, name: str) -> bool:
        """Whether there is a grade to compare a second one with."""
        with suppress(ReadError):
            return agenda.is_judged(load_result(self.work.out / name / store.RESULT))
        return False

    def _end(self, seats: Sequence[Seat]) -> None:
        """End what still runs; what was under way is repeated another time."""
        for seat in seats:
            seat.lane.bury()
        with suppress(UserError):  # of the journal, when that is why all ends
            self.journal.stop()


def _not_twice(seat: Seat, reason: str) -> Event:
    return seat.event("twice", {"moved": [["all", "graded", reason]]})
