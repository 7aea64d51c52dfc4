"""Judges what student code says about time, against a clock whose every move was scripted; and where it waits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autograder.checks.numerics import close, explained, shown
from autograder.model import Failed, Passed, Verdict

EXACT = 0.01  # relative: a scripted clock leaves nothing but rounding
COLD = 3.0  # seconds that the first scripted call takes longer


@dataclass(frozen=True)
class Script:
    """How long each batch took to arrive and to be worked on, in seconds."""

    waits: Sequence[float]
    work: Sequence[float]
    samples: int
    batch: int
    """Samples of a full batch; the last one is shorter."""

    @property
    def total(self) -> float:
        """Seconds of the whole epoch."""
        return sum(self.waits) + sum(self.work)


def honest(told: Mapping[str, Any], script: Script, *, try_: str) -> Verdict:
    """Pass throughput over whole iterations, and data_wait as the sum of the waits."""
    rate, waited = script.samples / script.total, sum(script.waits)
    measured = (
        f"throughput {shown(told['throughput'])} samples/s where {rate:.4g} passed, "
        f"data_wait {shown(told['data_wait'])} s of {waited:.4g}"
    )
    if not close(told["throughput"], rate, EXACT):
        why = explained(told["throughput"], _rates(script), EXACT) or "samples / seconds of the epoch is another figure"
        return Failed(measured, why, f"start the clock before the loop asks for its first batch; {try_}")
    if not close(told["data_wait"], waited, EXACT):
        why = explained(told["data_wait"], _waits(script), EXACT) or "the waits were not added up"
        return Failed(measured, why, "add up the time from asking for a batch until it is there")
    return Passed(measured)


def _rates(script: Script) -> list[tuple[float, str]]:
    count = len(script.waits)
    return [
        (script.samples / sum(script.work), "the timer starts after the batch was fetched"),
        (script.samples / (script.total - script.waits[0]), "the first fetch is left out"),
        (count / script.total, "it counts batches and not samples"),
        (script.batch * count / script.total, "it counts the last batch as a full one"),
    ]


def _waits(script: Script) -> list[tuple[float, str]]:
    waited = sum(script.waits)
    return [
        (waited - script.waits[0], "the first fetch is left out"),
        (waited / len(script.waits), "it is the mean, and the sum is asked for"),
        (waited / script.total, "it is a share, and seconds are asked for"),
        (waited * 1000, "it is in milliseconds, and seconds are asked for"),
        (script.total, "it holds the work as well"),
    ]


def no_wait_per_step(waits: Sequence[Mapping[str, Any]], batches: int, *, try_: str) -> Verdict:
    """Pass when the host waits for the device in every tenth batch or more rarely."""
    waited = {batch for wait in waits for batch in wait["batches"]}
    if len(waited) * 10 <= batches + 9:  # batches 0, 10, 20 ... may
        return Passed(f"{len(waited)} of {batches} batches waited")
    where = ", ".join(f"line {wait['line']}: {wait['call']}" for wait in waits[:4])
    why = "each brings a value to the host, so the next step cannot be queued before this one is done"
    return Failed(f"{len(waited)} of {batches} batches waited ({where})", why, try_)


def median_problem(name: str, told: float, seconds: float, repeats: int) -> str:
    """Say how *told*, in milliseconds, is not the median of *repeats* calls of a `rig.scripted_call`."""
    expected = 1000 * seconds
    if close(told, expected, EXACT):
        return ""
    stories = [
        (expected * (repeats + 3.8) / repeats, "it is the mean, so one slow call decides it: take the median"),
        (expected * 0.8, "it is the fastest call: take the median"),
        (expected * 5.0, "it is the slowest call: take the median"),
        (expected * 3.0, "it was timed while the memory was being watched: time first"),
        (seconds, "it is in seconds"),
    ]
    words = explained(told, stories, EXACT)
    if not words and told >= 1000 * COLD / (repeats + 2):
        words = "it includes the slow first call: warm up before"
    return f"{name} took {told:.4g} ms, and the median of its calls is {expected:.4g} ms{': ' * bool(words)}{words}"
