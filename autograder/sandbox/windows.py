"""One side of a timed pair: a worker that does the same work window by window, and stands still in
between.

The clock is ours, and it stops when an answer arrives that cannot exist before the work is
done. Whatever a student's worker says is a claim: a wrong, early, late or missing answer ends
the comparison with `Stopped`, which is its doing.

    TIME -> BUILT       import, build, compile
    GO, inputs -> ...   one window, as its kind has it: see calls.py, train.py, load.py
    ... -> RAISED       the student's code raised an exception
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from autograder.errors import MovedError, WireError
from autograder.model import Job
from autograder.protocol.wire import Message, encode, receive
from autograder.sandbox import tree
from autograder.sandbox.slow_store import Store
from autograder.sandbox.watch import Stopped, Watched
from autograder.sandbox.workers import Workers, known_kind, task

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

PAIR_SECONDS = 300  # of CPU time at the most
FREEZE_SECONDS = 1.0
Form = tuple[str, tuple[int, ...]]
"""dtype and shape of an array; -1 is any number."""


class Talk:
    """A conversation with one worker, in which nothing is believed but its form."""

    def __init__(self, watched: Watched) -> None:
        """Begin it; the worker has its say only when asked."""
        self._watched = watched

    def say(
        self,
        kind: str,
        body: Mapping[str, Any],
        descriptors: Sequence[int] = (),
    ) -> None:
        """Send a message to a worker that has nothing left to say."""
        if not self._watched.silent():
            raise Stopped("refused", f"answered before it was asked ({kind})")
        self._watched.send(encode(Message(kind, body)), descriptors)

    def hear(
        self,
        kind: str,
        body: Mapping[str, type],
        arrays: Mapping[str, Form],
    ) -> Message:
        """Wait for an answer of exactly this form."""
        try:
            message = receive(self._watched.read)
        except WireError as error:
            raise Stopped("refused", f"the worker's answer was refused: {error}") from None
        words = message.body.get("error")
        end = message.body.get("kind")
        if message.kind == "RAISED" and type(words) is str and known_kind(end):
            raise Stopped("raised", words, end)
        types = {name: type(value) for name, value in message.body.items()}
        if message.kind != kind or types != body or not _formed(message.arrays, arrays):
            raise Stopped(
                "refused", f"the worker's answer was refused: it is no {kind} as it was asked for"
            )
        return message


def _formed(arrays: Mapping[str, Array], forms: Mapping[str, Form]) -> bool:
    return set(arrays) == set(forms) and all(
        str(arrays[name].dtype) == dtype
        and arrays[name].ndim == len(shape)
        and all(
            wanted in (-1, size) for wanted, size in zip(shape, arrays[name].shape, strict=True)
        )
        for name, (dtype, shape) in forms.items()
    )


def _believed(problem: str) -> None:
    if problem:
        raise Stopped("refused", f"in a timed window {problem}", "other results")


def generator(*seed: int) -> np.random.Generator:
    """Return the random numbers that follow from secret ones."""
    import numpy as np

    return np.random.default_rng(seed)


class Work(Protocol):
    """What a pair is asked: the same data for both sides at each turn, and what each side
    answered.
    """

    count: int  # what a window holds: calls, batches or samples
    fewer: int  # of them on the side named student, where that is not all of them: a canary

    def bytes_of_one(self) -> int: ...
    def store(
        self, side: str
    ) -> Store | None: ...  # what a fresh worker reads from, if that is not handed over
    def window(
        self, talk: Talk, side: str, turn: int
    ) -> float: ...  # ask, time, and verify alone: seconds
    def agree(
        self, turn: int
    ) -> str: ...  # when both sides have answered: what the student's did wrong, or nothing
    def settle(
        self, talk: Talk
    ) -> str: ...  # at the end of a pair, with a worker of trusted code: the same


@dataclass
class TimedWorker:
    """One side of a pair, as the clock knows it."""

    name: str
    job: Job
    workers: Workers
    work: Work
    patience: float
    """Seconds that a window may take."""
    peak_bytes: int = 0
    """The most memory that it used in any pair."""
    _seconds: float = 0.0
    _interrupted: float = 0.0
    _turn: int = 0
    _watched: Watched | None = None
    _stack: ExitStack = field(default_factory=ExitStack)

    def start(self, seed: int) -> None:  # noqa: ARG002 what a pair is asked lies in its work
        """Fork the worker and wait until it has built what is timed."""
        self._turn = 0
        limits = self.job.limits
        job = replace(self.job, limits=replace(limits, seconds=limits.seconds + PAIR_SECONDS))
        # Both sides on one and the same core: what is compared is the work, not how much of the
        # machine it takes.
        cores = [tree.timed_core()] if job.device == "cpu" else []
        self._watched = self._stack.enter_context(self.workers.worker(job, cores))
        if cores and self._watched.box is not None:
            self._watched.box.rest(cores)
        self._watched.allow(limits.seconds, "this part")
        talk = Talk(self._watched)
        with self._blamed():
            talk.hear("READY", {}, {})
            talk.say("TIME", task(job), self._stocked(self._watched))
            talk.hear("BUILT", {}, {})

    def window(self) -> float:
        """Run one window."""
        assert self._watched is not None
        turn = self._turn
        self._turn = self._turn + 1
        self._watched.allow(self.patience, "one timed window")
        before = tree.interrupted_seconds()
        with self._blamed():
            seconds = self.work.window(Talk(self._watched), self.name, turn)
        self._interrupted += tree.interrupted_seconds() - before
        self._seconds += seconds
        _believed(self.work.agree(turn))
        return seconds

    def interrupted(self) -> float:
        """Return the share of its windows in which the kernel served interrupts on the timed
        core.
        """
        return self._interrupted / self._seconds if self._seconds else 0.0

    def _stocked(self, watched: Watched) -> list[int]:
        store = self.work.store(self.name)
        if store is None:
            return []
        self._stack.enter_context(closing(store))
        watched.attend(store.asks, store.hear, store.serve)
        return store.descriptors

    def settle(self) -> None:
        """Be the evaluator: a fresh process of trusted code looks at what both sides of the
        pair handed over.
        """
        try:
            self.start(0)
            assert self._watched is not None
            self._watched.allow(self.patience, "the evaluation")
            with self._blamed():
                problem = self.work.settle(Talk(self._watched))
        finally:
            self.end()
        _believed(problem)

    def freeze(self) -> None:
        """Stop every process of it.

        Done when two walks in a row found the same ones, all of them still.
        """
        assert self._watched is not None
        still = None
        deadline = time.monotonic() + FREEZE_SECONDS
        while (pids := self._watched.processes()) != still:
            if time.monotonic() > deadline:
                raise MovedError(self.name, "could not be stopped")
            tree.signal_all(pids, signal.SIGSTOP)
            still = None if tree.moving(pids) else pids
        self._undisturbed_box()

    def thaw(self) -> None:
        """Let them go on."""
        assert self._watched is not None
        tree.signal_all(self._watched.processes(), signal.SIGCONT)

    def turns(self) -> dict[str, int]:
        """How often each of its threads was given a core so far."""
        assert self._watched is not None
        self._undisturbed_box()
        return tree.turns(self._watched.processes())

    def _undisturbed_box(self) -> None:
        assert self._watched is not None
        if self._watched.box is not None and self._watched.box.stirred():
            raise MovedError(self.name)

    def end(self) -> None:
        """Kill all of it and wait until it is gone."""
        self._stack.close()
        if self._watched is not None:
            self.peak_bytes = max(self.peak_bytes, self._watched.peak_bytes)
        self._watched = None

    @contextmanager
    def _blamed(self) -> Iterator[None]:
        """What goes wrong on the baseline is a fault of the course or of ours, never the
        student's.
        """
        try:
            yield
        except Stopped as stopped:
            if self.job.side == "student":
                raise
            raise RuntimeError(f"the baseline, timed: {stopped}") from stopped
