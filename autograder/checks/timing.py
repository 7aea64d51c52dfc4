"""Judges what student code says about time, against a clock whose every move was scripted."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import add
from typing import Any

from autograder.checks.numerics import WHOLE, close, explained, shown
from autograder.model import Failed, Passed, Verdict

EXACT = 0.01  # relative: a scripted clock leaves nothing but rounding
COLD = 3.0  # seconds that the first scripted call takes longer
START = 1.0  # seconds that a scripted loader takes to begin, as it does when workers start
WALL = 1.25  # times as far goes time.time there


@dataclass(frozen=True)
class Script:
    """How long each batch took to arrive and to be worked on, in seconds."""

    waits: Sequence[float]
    work: Sequence[float]
    samples: int
    batch: int
    """Samples of a full batch; the last one is shorter."""
    queued: float = 0.0
    """Seconds of work in all that the device did by itself: the host waited for them where it fetched a value."""
    start: float = 0.0
    """Seconds of the first wait that passed in iter(loader); who times each next() alone may leave them out."""
    ahead: bool = False
    """Whether another thread asked for batches: the work goes on meanwhile, so less of each wait may be seen."""
    copied: float = 0.0
    """Seconds of the work in which the host waited for copies to the device."""

    @property
    def total(self) -> float:
        """Seconds of the whole epoch."""
        return sum(self.waits) + sum(self.work) + self.queued


EARLY = "start the clock before the loop asks for its first batch; do not subtract data_wait"
LATE = "on a GPU, call torch.cuda.synchronize() before the last reading of the clock"
STARTED = "read the clock before iter(loader), or write for ... in loader"
MILLISECONDS = "the time is in milliseconds, and must be in seconds"
IN_SECONDS = "return the seconds as perf_counter() gives them, without 1000 *"
COUNT = "throughput = samples / seconds, with samples += len(labels) in each iteration"
RATE = "len(labels) of all batches / (perf_counter() after the loop - perf_counter() before it)"
SUM = "data_wait += time from asking for a batch until it is there, the first one included"
CALL = "read the clock before the loop and after the loop"
OTHER = "samples / seconds of the epoch"
LONGER = "time the loop alone, with no sleep() or other work in the loop"
JUMPS = "the clock is time.time(), which jumps when somebody sets it"
STEADY = "time.perf_counter() for every reading"
ARRIVED = "read the clock as soon as the batch is there, before it is moved to the device"
MOVED = "(on a clock that the grader moves)"
AGAIN = "read the clock again when the iteration ends"


def honest(reported: Mapping[str, Any], script: Script) -> Verdict:
    """Pass throughput over whole iterations, and data_wait as the sum of the waits."""
    rate = script.samples / script.total
    waited = sum(script.waits)
    of_rate = f"throughput is {shown(reported['throughput'])} samples/s, and {rate:.4g} is right"
    of_wait = f"data_wait is {shown(reported['data_wait'])} s, and {waited:.4g} s is right"
    measured = f"{of_rate}; {of_wait} {MOVED}"
    if not close(reported["throughput"], rate, EXACT):
        times = (reported["throughput"] or 0.0) * script.total / script.samples
        other = (
            f"the result is {f'{times:.4g} times' if times else 'not'} {OTHER}",
            f"{RATE}, with no factor and no other clock",
        )
        if 0 < times < 1:
            other = f"{other[0]}: usually more than loading and training is timed", LONGER
        story = _story(reported["throughput"], _rates(script), other)
        return Failed(f"{of_rate} {MOVED}", *story)
    wait = reported["data_wait"]
    if any(close(wait, seconds, EXACT) for seconds in (waited, waited - script.start)):
        return Passed(measured)
    if script.ahead and wait is not None and 0 < wait <= waited:
        return Passed(measured)
    other = "the waits were not added up", SUM
    if (wait or 0.0) > waited:
        other = "data_wait holds more than the waits", AGAIN
    elif 0 < (wait or 0.0) < waited / 100:
        other = "the clock starts when the batch is there already", SUM
    return Failed(f"{of_wait} {MOVED}", *_story(wait, _waits(script), other))


Story = tuple[float, str, str]
"""The number that a usual mistake gives, why, and what to try."""


def _story(
    value: float | None, stories: Sequence[Story], other: tuple[str, str]
) -> tuple[str, str]:
    tries = {why: try_ for _, why, try_ in stories}
    why = explained(value, [(number, why) for number, why, _ in stories], EXACT)
    return (why, tries[why]) if why else other


def _rates(script: Script) -> list[Story]:
    """Say what throughput is where seconds are left out, or other things than samples are counted."""
    count = len(script.waits)
    total = script.total
    work = sum(script.work)
    fetched = "the time leaves out the wait for data"
    full = script.batch * count
    seconds = [
        (
            total - script.queued,
            "the clock stops before the device has finished",
            LATE,
        ),
        *(
            (work + later - copied, fetched, EARLY)
            for later in (0.0, script.queued)
            for copied in (0.0, script.copied)
        ),
        *(
            (total - script.waits[0] - copied, "the wait for the first batch is left out", EARLY)
            for copied in (0.0, script.copied / count)
        ),
        (
            total - script.start,
            "iter(loader) came before the clock was started",
            STARTED,
        ),
        (sum(script.waits), "the time holds the waits alone", CALL),
        (total * WALL, JUMPS, STEADY),
        (total * 1000, MILLISECONDS, IN_SECONDS),
    ]
    first = len(script.work)  # of the batches, where the loop ended early
    some = sum(script.waits[:first]) + work + script.queued
    return [
        *((script.samples / each, why, try_) for each, why, try_ in seconds if each > 0),
        *(
            [(script.batch * first / some, f"it is of {_first(first)} alone", WHOLE)]
            if first < count
            else []
        ),
        (count / total, "batches are counted, and not samples", COUNT),
        (full / total, "the last batch is counted as a full one", COUNT),
    ]


def _first(count: int) -> str:
    return f"the first {count} batches" if count > 1 else "the first batch"


def _waits(script: Script) -> list[Story]:
    """Say what data_wait is in another unit, or where it holds more or less than the waits."""
    waited, total = sum(script.waits), script.total
    arrivals = accumulate(map(add, script.waits, [0.0, *script.work]))
    again = "the clock is never started again, so each wait holds all that came before"
    return [
        (waited - script.waits[0], "the wait for the first batch is left out", SUM),
        *(
            (sum(script.waits[:n]), f"it holds the waits of {_first(n)} alone", WHOLE)
            for n in range(1, len(script.waits))
        ),
        (
            waited / len(script.waits),
            "data_wait is the mean of the waits, and must be their sum",
            SUM,
        ),
        (
            waited / total,
            "data_wait is a share, and must be in seconds",
            "return the sum of the waits",
        ),
        (waited * WALL, JUMPS, STEADY),
        (
            waited * 1000,
            MILLISECONDS,
            IN_SECONDS,
        ),
        *(
            (total - rest, "data_wait holds the work as well", AGAIN)
            for rest in (0.0, script.queued, script.work[-1])
        ),
        (waited + script.copied, "data_wait holds the copy to the device as well", ARRIVED),
        (sum(arrivals), again, AGAIN),
    ]


def ratio_of_means(
    baseline: Sequence[float], candidate: Sequence[float]
) -> tuple[float, float, float]:
    """Return a ratio and its 95 % interval; of each side there are mean, standard deviation and number of calls."""
    ratio = baseline[0] / candidate[0]
    spread = sum((std / mean) ** 2 / calls for mean, std, calls in (baseline, candidate))
    factor = math.exp(1.96 * math.sqrt(spread))
    return ratio, ratio / factor, ratio * factor
