"""How one pair of processes is timed, and how many pairs are taken.

Pure but for the arms and `now`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from statistics import median
from typing import Protocol

from autograder.clock.rule import Ruling, is_plain, may_go_on, rule
from autograder.errors import MovedError, SpoiltError

WARM_UP = 2
"""Windows an arm that do not count, at the least: nobody can foresee how many a pair has."""
TIMED = 12
"""Windows an arm that do."""
FEW = 6
"""As many in the pairs of the first look, and in all of them on a machine that is proved to be quiet.

An even number, so that each arm is first in half.
"""
MOST_PAIRS = 25
"""In one go; pooled ones not counted."""
MOST_DROPPED = 25
"""By then the machine is not fit for timing."""
PRACTICE_SECONDS = 15.0
PRACTICE_PAIRS = 5
GLANCE = 2
"""Windows an arm in the first two pairs of practice, which only show whether the bar is far."""

Now = Callable[[], float]
Take = Callable[[int], float]
"""Number of a pair, counted from 0 -> its log-ratio, or `SpoiltError`."""


class Arm(Protocol):
    """One side of a pair: a fenced worker that does the same timed work again and again."""

    name: str
    """baseline or student."""

    def start(self, seed: int) -> None:
        """Start, and wait until everything is built, ready for the first window."""

    def window(self) -> float:
        """Run one window on fresh data; return its seconds by the supervisor's clock."""
        ...

    def freeze(self) -> None:
        """Stop everything in its fence."""

    def thaw(self) -> None:
        """Let it go on."""

    def turns(self) -> Mapping[str, int]:
        """Return how often each of its threads was given a core so far."""
        ...

    def end(self) -> None:
        """Kill all of it and wait until it is gone, from the device too.

        Fine if not started.
        """


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
    take: Take,
    bar: float,
    seconds: float,
    now: Now,
    pooled: Sequence[float] = (),
    margin: float = math.inf,
) -> Comparison:
    """Take pairs until the rule decides or *seconds* are over.

    Bytes that were judged are not drawn again.
    """

    def is_open(pairs: Sequence[float]) -> bool:
        return rule(pairs, bar, margin=margin).decision == "GO ON"

    gathered = Gathered(tuple(pooled))
    if may_go_on(pooled, bar, margin):
        gathered = gather(take, is_open, seconds, now, pooled)
    return Comparison(rule(gathered.pairs, bar, last=True, margin=margin), gathered)


def rehearse(take: Take, bar: float, now: Now) -> Gathered:
    """Take the few pairs of practice mode, for `rule.practice`."""

    def is_open(pairs: Sequence[float]) -> bool:
        return len(pairs) < PRACTICE_PAIRS and not is_plain(pairs, bar)

    return gather(take, is_open, PRACTICE_SECONDS, now)


def gather(
    take: Take,
    go_on: Callable[[Sequence[float]], bool],
    seconds: float,
    now: Now,
    pooled: Sequence[float] = (),
) -> Gathered:
    """Take pairs while *go_on* asks for more.

    A pair as long as the longest so far has to fit into what is left of *seconds*.
    """
    kept = list(pooled)
    dropped: list[str] = []
    end = now() + seconds
    longest = 0.0
    most = len(pooled) + MOST_PAIRS
    while len(kept) < most and len(dropped) < MOST_DROPPED and go_on(kept):
        began = now()
        if began + longest > end:
            break
        try:
            kept.append(take(len(kept) + len(dropped)))
        except SpoiltError as problem:
            dropped.append(str(problem))
        longest = max(longest, now() - began)
    return Gathered(tuple(kept), tuple(dropped))


def alternating(
    baseline: Arm, student: Arm, seed: int, warm_up: int = WARM_UP, timed: int = TIMED
) -> float:
    """Time a pair on a CPU: both processes live, the other arm frozen while one has its window.

    It is the median of adjacent log-ratios, since the machine itself speeds up and slows down from
    second to second.
    """
    ratios = []
    with _live(baseline, seed), _live(student, seed):
        for baseline_first in order(seed, warm_up, timed):
            arms = (baseline, student) if baseline_first else (student, baseline)
            first = _alone(arms[0], arms[1])
            second = _alone(arms[1], arms[0])
            ratio = math.log(first / second)
            ratios.append(ratio if baseline_first else -ratio)
    return median(ratios[warm_up:])


def order(seed: int, warm_up: int, timed: int = TIMED) -> list[bool]:
    """Draw for each turn whether the baseline is first, in half of those that count.

    Whoever could foresee it would leave work to the kernel that is done in the other arm's window.
    """
    # The seed is secret, and what follows from it is never shown.
    drawn = Random(seed)  # noqa: S311
    counted = [turn % 2 == 0 for turn in range(timed)]
    drawn.shuffle(counted)
    return [drawn.random() < 0.5 for _ in range(warm_up)] + counted


def sequential(
    baseline: Arm,
    student: Arm,
    seed: int,
    index: int,
    warm_up: int = WARM_UP,
    timed: int = TIMED,
) -> float:
    """Time a pair on a GPU: one process after the other is gone, A B, then B A for the next pair.

    Freezing would not do: the queued kernels of a frozen process keep running.
    """
    order = (baseline, student) if index % 2 == 0 else (student, baseline)
    seconds = {arm.name: _whole_process(arm, seed, warm_up, timed) for arm in order}
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
    """Time one window of *arm*, and make sure that nothing of *other* ran, began or ended
    meanwhile.
    """
    before = other.turns()
    arm.thaw()
    seconds = arm.window()
    arm.freeze()
    if other.turns() != before:
        raise MovedError(other.name)
    return seconds


def _whole_process(arm: Arm, seed: int, warm_up: int, timed: int) -> float:
    try:
        arm.start(seed)
        return median([arm.window() for _ in range(warm_up + timed)][warm_up:])
    finally:
        arm.end()
