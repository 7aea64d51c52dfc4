"""Judges what student code says about time, against a clock whose every move was scripted; and where it waits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from autograder.checks.numerics import close, explained, shown
from autograder.model import Failed, Passed, Verdict

EXACT = 0.01  # relative: a scripted clock leaves nothing but rounding
COLD = 3.0  # seconds that the first scripted call takes longer
START = 1.0  # seconds that a scripted loader takes to begin, as it does when workers start
WALL = 1.25  # times as far goes time.time there
GRAPHS = 4  # of earlier steps: the variables of a loop hold one or two, a look back every ten batches another two


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

    @property
    def total(self) -> float:
        """Seconds of the whole epoch."""
        return sum(self.waits) + sum(self.work) + self.queued


EARLY = "start the clock before the loop asks for its first batch, and let it run through"
LATE = "read the clock after the losses and the correct answers are on the host, or after torch.cuda.synchronize()"
COUNT = "samples += len(labels) in each iteration; samples / seconds at the end"
SUM = "data_wait += time from asking for a batch until it is there, the first one included"
CALL = "time whole iterations, and call model(images): model.forward(images) skips the clock, which is hooked to it"
JUMPS = "its clock is time.time(), which jumps when it is set"
STEADY = "time.perf_counter() for every reading"
AGAIN = "read the clock again when the iteration ends"


def honest(told: Mapping[str, Any], script: Script) -> Verdict:
    """Pass throughput over whole iterations, and data_wait as the sum of the waits."""
    rate, waited = script.samples / script.total, sum(script.waits)
    measured = (
        f"throughput {shown(told['throughput'])} samples/s where {rate:.4g} passed, "
        f"data_wait {shown(told['data_wait'])} s of {waited:.4g}, on a clock that the grader moves"
    )
    if not close(told["throughput"], rate, EXACT):
        other = "samples / seconds of the epoch is another figure", COUNT
        return Failed(measured, *_story(told["throughput"], _rates(script), other))
    if not any(close(told["data_wait"], one, EXACT) for one in (waited, waited - script.start)):
        return Failed(
            measured,
            *_story(told["data_wait"], _waits(script), _waited(told["data_wait"] or 0.0, waited)),
        )
    return Passed(measured)


def _waited(told: float, waited: float) -> tuple[str, str]:
    """Say what is wrong with a wait that is the number of no usual mistake."""
    if told > waited:
        return "more than the wait is counted: the work of the step, or the copy, is in it", AGAIN
    if 0 < told < waited / 100:
        return "its clock starts when the batch is there already, so it times what comes after", SUM
    return "the waits were not added up", SUM


Story = tuple[float, str, str]
"""The number that a usual mistake gives, why, and what to try."""


def _story(
    value: float | None, stories: Sequence[Story], other: tuple[str, str]
) -> tuple[str, str]:
    tries = {why: try_ for _, why, try_ in stories}
    why = explained(value, [(number, why) for number, why, _ in stories], EXACT)
    return (why, tries[why]) if why else other


def _rates(script: Script) -> list[Story]:
    count, work = len(script.waits), sum(script.work)
    return [
        (
            script.samples / (script.total - script.queued),
            "the clock stops before the results are on the host",
            LATE,
        ),
        (script.samples / work, "the timer starts after the batch was fetched", EARLY),
        (
            script.samples / (work + script.queued),
            "the timer starts after the batch was fetched",
            EARLY,
        ),
        (script.samples / (script.total - script.waits[0]), "the first fetch is left out", EARLY),
        (
            script.samples / (script.total - script.start),
            "iter(loader) came before the clock was started",
            EARLY,
        ),
        (script.samples / sum(script.waits), "it holds the waits alone", CALL),
        (count / script.total, "it counts batches and not samples", COUNT),
        (script.samples / script.total / WALL, JUMPS, STEADY),
        (script.batch * count / script.total, "it counts the last batch as a full one", COUNT),
    ]


def _waits(script: Script) -> list[Story]:
    waited = sum(script.waits)
    return [
        (waited - script.waits[0], "the first fetch is left out", SUM),
        (waited / len(script.waits), "it is the mean, and must be the sum", SUM),
        (waited / script.total, "it is a share, and must be in seconds", SUM),
        (waited * WALL, JUMPS, STEADY),
        (waited * 1000, "it is in milliseconds, and must be in seconds", SUM),
        (script.total, "it holds the work as well", AGAIN),
        (script.total - script.queued, "it holds the work as well", AGAIN),
        (script.total - script.work[-1], "it holds the work as well", AGAIN),
        (
            sum(_arrivals(script)),
            "its clock is never started again, so each wait holds all that was before it",
            AGAIN,
        ),
    ]


def _arrivals(script: Script) -> Iterator[float]:
    """Yield when each batch was there, in seconds from the start of the epoch."""
    return accumulate(
        wait + work for wait, work in zip(script.waits, [0.0, *script.work], strict=False)
    )


def no_wait_per_step(
    waits: Sequence[Mapping[str, Any]], batches: int, kept: int, *, try_: str
) -> Verdict:
    """Pass when the host waits for the device in every tenth batch or more rarely, and no old graph is kept."""
    if kept > GRAPHS:
        measured = f"the graphs of {kept} earlier steps were in memory at once"
        why = "a loss that is kept with its graph holds on to its step, so memory grows with the epoch"
        return Failed(measured, why, "append loss.detach(), not loss")
    waited = {batch for wait in waits for batch in wait["batches"]}
    if len(waited) * 10 <= batches + 9:  # batches 0, 10, 20 ... may
        return Passed(f"{len(waited)} of {batches} batches waited")
    where = ", ".join(f"line {wait['line']}: {wait['call']}" for wait in waits[:4])
    why = (
        "each brings a value to the host, so the next step cannot be queued before this one is done"
    )
    return Failed(f"{len(waited)} of {batches} batches waited ({where})", why, try_)
