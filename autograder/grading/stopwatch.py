"""The clock of one run of the grader: times a student's work against the baseline's and judges the ratio by a bar.

how much work fills a window     from the baseline's speed, once for each probe
whether the machine is fit       examination.py: the baseline against itself, and against half of its work
pairs, until the rule decides    clock/ says how many and what they are worth, sandbox/ runs them

The baseline is public and runs in a worker like the student's; the reference is not needed.
"""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import stdev
from typing import Any, NamedTuple

from autograder.clock.gate import Session
from autograder.clock.pairs import (
    GLANCE,
    WARM_UP,
    Gathered,
    Take,
    alternating,
    compare,
    rehearse,
    sequential,
)
from autograder.clock.rule import FIRST_LOOK, PLAIN_LOOK, Ruling, practice, rule
from autograder.config import LOWEST_BAR
from autograder.errors import MovedError, SpoiltError
from autograder.grading.examination import Examination, announced
from autograder.lab import Probe
from autograder.machine.kept_examination import Memory, Nowhere
from autograder.model import Compared, Job
from autograder.probe import Close, Tolerance
from autograder.sandbox import Workers
from autograder.sandbox.calls import Calls
from autograder.sandbox.load import SAMPLES, Load
from autograder.sandbox.train import Train
from autograder.sandbox.watch import Stopped
from autograder.sandbox.windows import TimedWorker, Work

WINDOW_SECONDS = 0.1  # of the shorter arm, when the student is as fast as the bar asks for
LONGEST_WINDOW_SECONDS = 0.25  # of the baseline
CHECK_SECONDS = 330.0  # 25 ordinary pairs take 110; this is what the first look takes at a student 40 times too slow
MOST = 4096  # calls or batches in a window
MOST_BYTES = 64 << 20  # of inputs in a window
PATIENCE = 20  # times the baseline's window, or PATIENCE_SECONDS where that is more
PATIENCE_SECONDS = 10.0
MOST_MOVED = 3  # pairs in which the student's processes worked while they were stopped
MOST_INTERRUPTED = 0.05  # of the baseline's time, beyond what the examination saw: a bar asks for more than twice that


class Size(NamedTuple):
    """What a window of one probe is."""

    amount: int
    """Calls, batches or samples."""
    seconds: float
    """Of the baseline."""


class Sides(NamedTuple):
    """Who is timed."""

    probe: Probe
    student: Job
    baseline: Job


@dataclass
class Stopwatch:
    """Remembers what it found out in this run: sizes of windows, whether the machine is fit, pairs of equal bytes."""

    workers: Workers
    rehearsal: bool = False
    """Practice: a few pairs, no gate, never a verdict."""
    now: Callable[[], float] = time.monotonic
    secret: Callable[[], int] = lambda: secrets.randbits(64)
    memory: Memory = field(default_factory=Nowhere)
    _session: Session = field(default_factory=Session)
    _sizes: dict[tuple[str, float], Size] = field(default_factory=dict)
    _pooled: dict[str, tuple[float, ...]] = field(default_factory=dict)
    _peaks: dict[str, int] = field(default_factory=dict)

    def __call__(self, probe: Probe, student: Job, baseline: Job, bar: float) -> Compared:
        """Compare the two; a student's worker that does not keep to the rules is reported with its reason."""
        began = self.now()
        sides = Sides(probe, student, baseline)
        size = self._size(sides, bar)
        try:
            if self.rehearsal:
                return self._rehearsed(sides, size, bar)
            return self._judged(sides, size, bar, began)
        except Stopped as stopped:
            return Compared("FAIL", "", ended=stopped.ended, error=stopped.words, kind=stopped.kind)

    def _rehearsed(self, sides: Sides, size: Size, bar: float) -> Compared:
        gathered = rehearse(self._take(sides, size), bar, self.now)
        evidence = self._evidence(gathered, rule(gathered.pairs, bar, last=True), size)
        return Compared(
            "INCONCLUSIVE",
            practice(gathered.pairs, bar),
            undecided="a grading run decides",
            evidence=evidence,
        )

    def _judged(self, sides: Sides, size: Size, bar: float, began: float) -> Compared:
        if self._session.needs_gate(self.now()):
            try:
                self._examine(sides._replace(student=sides.baseline))
            except Stopped as stopped:
                raise RuntimeError(f"the baseline against itself: {stopped}") from stopped
            began = self.now()
        if not self._session.counts:
            examined = {"examination": self._session.figures}
            return Compared("INCONCLUSIVE", "", undecided=self._session.refusal, evidence=examined)
        key = sides.student.fingerprint
        self._peaks.clear()
        take = announced(self._take(sides, size), "it is timed against the baseline")
        pooled = self._pooled.get(key, ())
        margin = self._session.margin
        comparison = compare(take, bar, CHECK_SECONDS, self.now, pooled, margin)
        self._pooled[key] = comparison.gathered.pairs
        evidence = self._evidence(comparison.gathered, comparison.ruling, size)
        evidence |= {f"{side}_peak_bytes": peak for side, peak in self._peaks.items()}
        evidence["seconds"] = round(self.now() - began, 1)
        evidence["examination"] = self._session.figures
        return _compared(comparison.ruling, comparison.gathered, evidence)

    def _examine(self, itself: Sides) -> None:
        size = self._size(itself, LOWEST_BAR)
        whole = self._take(itself, size)
        half = self._take(itself, size, fewer=size.amount // 2)
        Examination(self._session, self.memory, whole, half, self.now).look()

    def _size(self, sides: Sides, bar: float) -> Size:
        """Find how much work takes the baseline long enough."""
        target = min(WINDOW_SECONDS * bar, LONGEST_WINDOW_SECONDS)
        key = sides.baseline.fingerprint, target
        if key not in self._sizes:
            self._sizes[key] = self._measured(sides, target)
        return self._sizes[key]

    def _measured(self, sides: Sides, target: float) -> Size:
        work = self._work(sides.probe, SAMPLES if sides.probe.timed == "load" else 2)
        arm = TimedWorker("baseline", sides.baseline, self.workers, work, math.inf)
        most = work.count  # a loader is built once, for a data set of one length
        if sides.probe.timed != "load":
            most = min(MOST, max(2, MOST_BYTES // work.bytes_of_one()))
        try:
            arm.start(0)
            arm.window()  # the first one is colder than all others
            while (seconds := arm.window()) < target and work.count < most:
                work.count = min(most, math.ceil(work.count * min(8.0, 1.1 * target / seconds)))
        finally:
            arm.end()
        return Size(work.count, seconds)

    def _take(self, sides: Sides, size: Size, fewer: int = 0) -> Take:
        """Return what takes one pair after the other; who is slow in the first has less to do in the next."""
        moved: list[str] = []
        sizes = [size]

        def take(index: int) -> float:
            try:
                ratio = self._pair(sides, sizes[-1], fewer, index)
            except MovedError as error:
                moved.append(error.arm)
                if sides.student.side == "student" and moved == ["student"] * MOST_MOVED:
                    raise Stopped("tampering", str(error)) from None
                raise
            if len(sizes) == 1:
                sizes.append(size._replace(amount=_enough(size.amount, ratio, sides.probe)))
            return ratio

        return take

    def _pair(self, sides: Sides, size: Size, fewer: int, index: int) -> float:
        seed = self.secret()
        patience = max(PATIENCE_SECONDS, PATIENCE * size.seconds)
        work = self._work(sides.probe, size.amount, seed, fewer)
        warm_up = WARM_UP + seed % 2
        windows = self._windows(index)
        baseline = TimedWorker("baseline", sides.baseline, self.workers, work, patience)
        student = TimedWorker("student", sides.student, self.workers, work, patience)
        try:
            if sides.student.device == "cpu":
                ratio = alternating(baseline, student, seed, warm_up, windows)
                self._uninterrupted(sides, baseline.interrupted())
            else:
                ratio = sequential(baseline, student, seed, index, warm_up, windows)
            if sides.probe.timed == "train":
                TimedWorker("evaluator", sides.baseline, self.workers, work, patience).settle()
            return ratio
        finally:
            for arm in (baseline, student):
                self._peaks[arm.name] = max(arm.peak_bytes, self._peaks.get(arm.name, 0))

    def _windows(self, index: int) -> int:
        """Return how many windows a pair has that count."""
        if self.rehearsal and index < PLAIN_LOOK:
            return GLANCE
        return self._session.windows_of(index)

    def _uninterrupted(self, sides: Sides, share: float) -> None:
        """Drop a pair in which the kernel kept the core from the baseline, more than in the examination."""
        quiet = self._session.interrupted
        if sides.student.side == "baseline":
            self._session.interrupted = max(quiet, share)
        elif not self.rehearsal and share > quiet + MOST_INTERRUPTED:
            raise SpoiltError(
                f"the kernel served interrupts in {share:.0%} of the "
                f"time that the baseline was timed"
            )

    def _evidence(self, gathered: Gathered, ruling: Ruling, size: Size) -> dict[str, Any]:
        return {
            "pairs": [round(d, 5) for d in gathered.pairs],
            "interval": [round(ruling.low, 4), round(ruling.high, 4)],
            "noise": round(stdev(gathered.pairs), 4) if len(gathered.pairs) > 1 else None,
            "dropped": list(gathered.dropped),
            "windows": self._windows(len(gathered.pairs) - 1),
            "count": size.amount,
        }

    def _work(self, probe: Probe, count: int, seed: int = 0, fewer: int = 0) -> Work:
        if isinstance(probe.within, Tolerance):
            return Train(count, seed, probe.within, fewer, self.now)
        if probe.timed == "load":
            return Load(count, seed, fewer, self.now)
        assert probe.inputs is not None
        return Calls(probe.inputs, count, seed, probe.within or Close(), fewer, self.now)


def _enough(amount: int, ratio: float, probe: Probe) -> int:
    """Return how much fills a window of the slower side, which may be the student."""
    return max(
        min(amount, SAMPLES if probe.timed == "load" else 2),
        math.ceil(amount * min(1.0, math.exp(ratio))),
    )


def _compared(ruling: Ruling, gathered: Gathered, evidence: dict[str, Any]) -> Compared:
    assert ruling.decision != "GO ON"
    undecided = _undecided(ruling, gathered) if ruling.decision == "INCONCLUSIVE" else ""
    return Compared(ruling.decision, str(ruling), ruling.credit, undecided, evidence)


def _undecided(ruling: Ruling, gathered: Gathered) -> str:
    reason = "the pairs differ too much to tell"
    if ruling.pairs < FIRST_LOOK:
        reason = f"only {ruling.pairs} pairs could be measured"
    if gathered.dropped:
        reason += f"; {len(gathered.dropped)} were dropped: {gathered.dropped[0]}"
    return reason
