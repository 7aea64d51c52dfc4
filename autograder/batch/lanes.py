"""A lane: a process that grades one submission after the other, so that what takes it down takes nothing else with it.

    the run (rounds.py)                        the lane
    Order: what to grade                  ->   reads the files
                                          <-   {"sha256"}: what they are; or {"unread"}: why they cannot be read
    Go: the seed; or nothing: keep it     ->   grades, writes result.json
                                          <-   {"says"}: what is done meanwhile, any number of them
                                          <-   {"outcome", "result_sha256", "score", ...}

Lines of JSON both ways. A lane has warm workers of its own. It ends with the run, and all that it started ends with it.
"""

from __future__ import annotations

import json
import logging
import multiprocessing
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from autograder.batch import store
from autograder.errors import (
    NOWHERE_TO_WRITE,
    GoneError,
    PerflabError,
    PostponedError,
    ReadError,
    UserError,
    nowhere,
)
from autograder.grading import scoring
from autograder.grading.grade import grade
from autograder.grading.kit import Kit, Session, beside_others
from autograder.machine.processes import die_with, how
from autograder.model import (
    Compared,
    Device,
    Observation,
    PartResult,
    Result,
    Submission,
)
from autograder.result_file import load_result
from autograder.results import overrides, requests
from autograder.results.diff import moved

# Forked, so that a lane has the lab as it was loaded; the run starts no threads.
FORK = multiprocessing.get_context("fork")
LATER = "waits for its turn at the clock"
LANE_BYTES = 3 << 30  # a warm process and one worker at its usual limit


@dataclass(frozen=True)
class Work:
    """What is the same for all lanes of a run."""

    kit: Kit
    open: Callable[[], AbstractContextManager[Session]]
    out: Path
    parts: Collection[str] = ()
    only: str = ""
    away: Away | None = None
    """Who grades elsewhere what lanes read; without it they grade themselves."""


@dataclass(frozen=True)
class Order:
    """What to read: what was handed in, or, with no path, what was kept of it."""

    name: str
    path: str = ""
    to_time: int = 0
    """Checks that wait for the clock."""


@dataclass(frozen=True)
class Go:
    """How to grade what was read."""

    seed: int
    last: bool
    """What is undecided after this is left to a person."""
    twice: bool = False
    """Grade once more beside the result, which stays."""
    good: dict[str, list[str]] | None = None
    """The checks of each part that still count as they were judged before."""
    round: str = ""
    """What was found out about a machine holds for one round."""


@dataclass(frozen=True)
class Errand:
    """What is graded elsewhere: files that were kept, and what of their result is settled."""

    handed_in: Submission
    seed: int
    settled: Result | None
    timed: bool
    round: str


Away = Callable[[Errand], tuple[Result, str]]
"""Returns the result, and a note for the journal: where it was graded."""


def among_others(work: Work) -> Work:
    """Return the work of one of several lanes: nobody loses points because another lane was busy."""

    @contextmanager
    def opened() -> Iterator[Session]:
        with work.open() as session:
            yield beside_others(session)

    return replace(work, open=opened)


def later(*_: object) -> Compared:
    """In the clock's place while other lanes work: nothing is timed, and what would have been is judged later."""
    return Compared("INCONCLUSIVE", "", undecided=LATER, postponed=True)


def squeezed_later(*_: object) -> Observation:
    """In the ballast's place, likewise: it takes the whole of a GPU."""
    raise PostponedError(LATER)


class Lane:
    """The run's end of a lane."""

    def __init__(self, number: int, work: Work, *, clocked: bool, lanes: int = 1) -> None:
        """Start the process, as one of so many *lanes*."""
        self.number = number
        self.channel, theirs = FORK.Pipe()
        cores = set(os.sched_getaffinity(0)) if work.away else share(number, lanes)
        self._process = FORK.Process(
            target=_serve, args=(theirs, work, clocked, os.getpid(), cores), daemon=True
        )
        self._process.start()
        theirs.close()

    def tell(self, order: Order | Go | None) -> None:
        """Send an order; that nobody hears it shows when the answer is listened for."""
        with suppress(OSError):
            _send(self.channel, asdict(order) if order else None)

    def hear(self) -> dict[str, Any] | None:
        """Take an answer; nothing when the lane is gone."""
        answer: dict[str, Any] | None = _hear(self.channel)
        return answer

    def close(self) -> None:
        """Let it end by itself."""
        self.tell(None)
        self._process.join()

    def kill(self) -> None:
        """End it now; what it started ends with it."""
        self._process.kill()

    def bury(self) -> str:
        """End it if it still runs, and say how it ended."""
        self.kill()
        self._process.join()
        self.channel.close()
        return how(self._process.exitcode or 0)


def share(number: int, lanes: int) -> set[int]:
    """Return the cores of a lane: whatever one submission starts, it takes none of another's time."""
    here = sorted(os.sched_getaffinity(0))
    return set(here[number - 1 :: lanes]) or {here[(number - 1) % len(here)]}


def lanes_for(device: Device) -> int:
    """Return how many lanes suit this machine: one for each core, as far as memory goes; on a GPU one."""
    if device.kind != "cpu":
        return 1
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(1, min(len(os.sched_getaffinity(0)), memory // LANE_BYTES))


def _send(channel: Connection, message: Mapping[str, Any] | None) -> None:
    channel.send_bytes(json.dumps(message).encode())


def _hear(channel: Connection) -> Any:
    try:
        return json.loads(channel.recv_bytes())
    except (EOFError, OSError):
        return None


class _Says(logging.Handler):
    """Hands on to the run what is told meanwhile."""

    def __init__(self, channel: Connection) -> None:
        super().__init__()
        self._channel = channel

    def emit(self, record: logging.LogRecord) -> None:
        _send(self._channel, {"says": record.getMessage()})


def _serve(channel: Connection, work: Work, clocked: bool, run: int, cores: set[int]) -> None:
    """Be the lane."""
    die_with(run)
    os.sched_setaffinity(0, cores)
    os.setsid()  # Ctrl-C is for the run, which ends its lanes
    log = logging.getLogger("autograder")
    log.addHandler(_Says(channel))
    log.setLevel(logging.INFO)
    try:
        with work.open() as session:
            while (order := _hear(channel)) is not None:
                _do(channel, work, session, Order(**order), clocked=clocked)
    except UserError as problem:
        _send(channel, {"stop": str(problem)})
    except OSError as problem:
        if problem.errno not in NOWHERE_TO_WRITE:
            raise
        _send(channel, {"stop": nowhere(problem)})


def _do(channel: Connection, work: Work, session: Session, order: Order, *, clocked: bool) -> None:
    """Read what an order names, and grade it if the run says so."""
    try:
        handed_in, before = _read(work, order)
    except PerflabError as problem:  # one submission's trouble, not the run's
        _send(channel, {"unread": str(problem)})
        return
    _send(channel, {"sha256": handed_in.sha256})
    order_to_go = _hear(channel)
    if order_to_go is None:
        return
    go = Go(**order_to_go)
    try:
        if before is not None and go.twice:
            answer = _graded_twice(work, session, handed_in, go, before)
        else:
            answer = _graded(work, session, handed_in, go, before, clocked=clocked)
    except GoneError as gone:
        answer = {"outcome": gone.outcome, "note": str(gone)}
    _send(channel, answer)


def _read(work: Work, order: Order) -> tuple[Submission, Result | None]:
    lab, released = work.kit.lab, work.kit.released
    if order.path:
        handed_in = store.load_or_say(Path(order.path), lab.files, released)
        if handed_in.request:
            requests.keep(work.out / order.name, handed_in.request)
        return replace(handed_in, name=order.name), None
    before = load_result(work.out / order.name / store.RESULT)
    return store.kept(order.name, work.out, lab.files), before


def _graded(
    work: Work,
    session: Session,
    handed_in: Submission,
    go: Go,
    before: Result | None,
    *,
    clocked: bool,
) -> dict[str, Any]:
    if before is None:
        store.keep(handed_in, work.out)
        before = still(work, handed_in.name, go.good) if go.good else None
    errand = Errand(handed_in, before.seed if before else go.seed, before, clocked, go.round)
    result, note = _result(work, session, errand)
    outcome = _outcome(result)
    if go.last and outcome == "again":
        result = scoring.left_to_a_person(result)
    store.save(result, work.out)
    written = store.digest(result.submission, work.out)
    said = figures(result, work.out, result.seconds - (before.seconds if before else 0.0))
    return {"outcome": outcome, "result_sha256": written, "note": note, **said}


def _outcome(result: Result) -> str:
    if result.waits_for_the_clock:
        return "timing"
    if any(item.settled_by == "again" for item in result.owed):
        return "again"
    return "graded"


def _result(work: Work, session: Session, errand: Errand) -> tuple[Result, str]:
    if work.away:
        return work.away(errand)
    return _here(work, session, errand), ""


def _here(work: Work, session: Session, errand: Errand) -> Result:
    if session.clock is not None and not errand.timed:
        session = replace(session, clock=later, squeeze=squeezed_later)
    return grade(
        errand.handed_in, work.kit, session,
        seed=errand.seed, parts=work.parts, only=work.only, settled=errand.settled,
    )  # fmt: skip


def _graded_twice(
    work: Work, session: Session, handed_in: Submission, go: Go, before: Result
) -> dict[str, Any]:
    """Grade anew, and say what comes out differently."""
    again, _ = _result(work, session, Errand(handed_in, go.seed, None, True, go.round))
    moves = moved({before.submission: before}, {before.submission: again})
    differences = [
        [difference.what, difference.old, difference.new]
        for move in moves
        for difference in move.why
    ]
    return {"outcome": "twice", "moved": differences, **figures(again, work.out)}


def still(work: Work, name: str, good: Mapping[str, Collection[str]]) -> Result:
    """Read the result that is there, less what has to be judged again, at the points that checks are worth now."""
    before = load_result(work.out / name / store.RESULT)
    kept = [part for part in before.parts if part.id in good]
    parts = tuple(_still(work, part, good[part.id]) for part in kept)
    return replace(before, parts=parts)


def _still(work: Work, part: PartResult, good: Collection[str]) -> PartResult:
    checks = [check for check in part.checks if check.id in good]
    prices = work.kit.config.parts[part.id].checks
    return replace(part, checks=tuple(scoring.repriced(checks, prices)))


def figures(result: Result, out: Path, seconds: float = 0.0) -> dict[str, Any]:
    """What a line of progress says of a result as it counts, and of an attempt that took so long."""
    counts = result
    with suppress(ReadError):  # the pages say what cannot be read
        counts = overrides.applied(result, overrides.read(out / result.submission))
    return {
        "score": counts.score,
        "max_score": counts.max_score,
        "owed": counts.points_owed,
        "seconds": round(seconds, 3),
        "to_time": result.waits_for_the_clock,
    }
