"""How one pair of processes is timed, and how many pairs are taken: pure but for the arms and `now`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from statistics import median
from typing import Protocol

from autograder.clock.verdict import Ruling, may_go_on, rule
from autograder.errors import MovedError, SpoiltError

WARM_UP = 2  # windows an arm that do not count, at the least: how many it is in a pair is nobody's to know
TIMED = 12  # windows an arm that do
MOST_PAIRS = 25  # in one go; pooled ones not counted
MOST_DROPPED = 25  # by then the machine is not fit for timing
PRACTICE_SECONDS, PRACTICE_PAIRS = 15.0, 5

Now = Callable[[], float]
Take = Callable[[int], float]
"""Number of a pair, counted from 0 -> its log-ratio, or `SpoiltError`."""


class Arm(Protocol):
    """One side of a pair: a fenced worker that does the same timed work again and again."""

    name: str  # "baseline" or "student"

    def start(
        self, seed: int
    ) -> None: ...  # and wait until everything is built, ready for the first window
    def window(self) -> float: ...  # one window on fresh data, in seconds of the supervisor's clock
    def freeze(self) -> None: ...  # stop everything in its fence
    def thaw(self) -> None: ...
    def turns(
        self,
    ) -> Mapping[str, int]: ...  # how often each of its threads was given a core so far
    def end(
        self,
    ) -> (
        None
    ): ...  # kill all of it and wait until it is gone, from the device too; fine if not started


@dataclass(frozen=True)
class Gathered:
    """The log-ratios of the pairs that count, pooled ones first, and why others were dropped."""

    pairs: tuple[float, ...]
    dropped: tuple[str, ...] = ()


@dataclass(frozen=True)
class Comparison:
    """The verdict on one submission's speedup, and what it rests on."""

    ruling: Ruling
    gathered: Gathered


def compare(
    take: Take, bar: float, seconds: float, now: Now, pooled: Sequence[float] = ()
) -> Comparison:
    """Take pairs until the rule decides or *seconds* are over; bytes that were judged are not drawn again."""
    gathered = Gathered(tuple(pooled))
    if may_go_on(pooled, bar):
        gathered = gather(
            take, lambda pairs: rule(pairs, bar).decision == "GO ON", seconds, now, pooled
        )
    return Comparison(rule(gathered.pairs, bar, last=True), gathered)


def rehearse(take: Take, now: Now) -> Gathered:
    """Take the few pairs of practice mode, for `verdict.practice`."""
    return gather(take, lambda pairs: len(pairs) < PRACTICE_PAIRS, PRACTICE_SECONDS, now)


def gather(
    take: Take,
    go_on: Callable[[Sequence[float]], bool],
    seconds: float,
    now: Now,
    pooled: Sequence[float] = (),
) -> Gathered:
    """Take pairs while *go_on* asks for more and one as long as the longest so far still fits into *seconds*."""
    kept, dropped = list(pooled), list[str]()
    end, longest = now() + seconds, 0.0
    while len(kept) - len(pooled) < MOST_PAIRS and len(dropped) < MOST_DROPPED and go_on(kept):
        began = now()
        if began + longest > end:
            break
        try:
            kept.append(take(len(kept) + len(dropped)))
        except SpoiltError as why:
            dropped.append(str(why))
        longest = max(longest, now() - began)
    return Gathered(tuple(kept), tuple(dropped))


def alternating(baseline: Arm, student: Arm, seed: int, warm_up: int = WARM_UP) -> float:
    """Time a pair on a CPU: both processes live, the other arm frozen while one has its window.

    The median of adjacent log-ratios, since the machine itself speeds up and slows down from second to second.
    """
    ratios = []
    with _live(baseline, seed), _live(student, seed):
        for baseline_first in order(seed, warm_up):
            if baseline_first:
                slow, fast = _alone(baseline, student), _alone(student, baseline)
            else:
                fast, slow = _alone(student, baseline), _alone(baseline, student)
            ratios.append(math.log(slow / fast))
    return median(ratios[warm_up:])


def order(seed: int, warm_up: int) -> list[bool]:
    """Draw for each turn whether the baseline is first, in half of those that count.

    Who could foresee it would leave work to the kernel that is done in the other arm's window.
    """
    drawn = Random(seed)  # noqa: S311 the seed is secret, and what follows from it is never shown
    timed = [turn % 2 == 0 for turn in range(TIMED)]
    drawn.shuffle(timed)
    return [drawn.random() < 0.5 for _ in range(warm_up)] + timed


def sequential(baseline: Arm, student: Arm, seed: int, index: int, warm_up: int = WARM_UP) -> float:
    """Time a pair on a GPU: one process after the other is gone, A B, then B A for the next pair.

    Freezing would not do: the queued kernels of a frozen process keep running.
    """
    order = (baseline, student) if index % 2 == 0 else (student, baseline)
    seconds = {arm.name: _whole_process(arm, seed, warm_up) for arm in order}
    return math.log(seconds[baseline.name] / seconds[student.name])


@contextmanager
def _live(arm: Arm, seed: int) -> Iterator[None]:
    try:
        arm.start(seed)
        arm.freeze()
        yield
    finally:
        arm.end()


def _alone(arm: Arm, other: Arm) -> float:
    """Time one window of *arm*, and make sure that nothing of *other* ran, began or ended meanwhile."""
    before = other.turns()
    arm.thaw()
    seconds = arm.window()
    arm.freeze()
    if other.turns() != before:
        raise MovedError(other.name)
    return seconds


def _whole_process(arm: Arm, seed: int, warm_up: int) -> float:
    try:
        arm.start(seed)
        return median([arm.window() for _ in range(warm_up + TIMED)][warm_up:])
    finally:
        arm.end()
