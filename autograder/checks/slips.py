"""Numbers that usual mistakes give: each follows from the parts of a time that was scripted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, repeat
from types import MappingProxyType
from typing import Any

from autograder.checks import outputs, timing
from autograder.checks.numerics import explained
from autograder.checks.result_form import named
from autograder.checks.table_form import Form, Row, Slip, told_wrong
from autograder.checks.timing import JUMPS, STEADY, WALL
from autograder.model import Failed, Pair, Verdict
from autograder.probe import CASES, INTEGER, NUMBER, list_of, map_of

SLIPPED = {**CASES, "slips": map_of(map_of(NUMBER))}
"""Values of a probe: cases, and by the name of a case what usual mistakes make of its number."""
PACE = 0.02  # relative: of throughput
WHOLE = 0.05  # relative: of seconds, which may hold a little more than the training
COLD = "the slow first pass was timed too: warm up before"
NO_WAIT = "the time leaves out the wait for data"
BATCHES = "batches are counted, and not samples"


@dataclass(frozen=True)
class Epoch:
    """What a clock was told of one epoch, in seconds."""

    samples: int
    batches: int
    wait: float
    """For all of its batches."""
    work: float
    """Of one batch."""
    cold: float = 0.0
    """More, where the first pass is among them."""

    @property
    def seconds(self) -> float:
        """Return how long it takes when warmed up."""
        return self.wait + self.batches * self.work

    @property
    def rate(self) -> float:
        """Return its samples per second."""
        return self.samples / self.seconds

    def slips(self) -> list[Slip]:
        """Return the throughput that each usual mistake gives."""
        return [
            (self.samples / (self.seconds + self.cold), COLD),
            (self.samples / (self.seconds - self.wait), NO_WAIT),
            (self.rate / WALL, f"{JUMPS}: {STEADY}"),
            (self.batches / self.seconds, BATCHES),
        ]


def epochs(script: Mapping[str, Any]) -> list[Epoch]:
    """Return an epoch for each of the works that a probe scripted."""
    shared = {name: script[name] for name in ("samples", "batches", "wait", "cold")}
    return [Epoch(**shared, work=work) for work in script["work"]]


def time_problem(
    form: Form,
    row: Row,
    epoch: Epoch,
    slips: Sequence[Slip],
    pace: float = PACE,
    otherwise: str = "",
    waits: Sequence[Slip] = (),
    longer: Sequence[Slip] = (),
) -> str:
    """Say how a row's throughput, epoch_time or data_wait are not what passed."""
    wrong = form.mismatch(row, "throughput", epoch.rate, pace, slips, otherwise)
    more = "more than the epoch was timed" * ((row["epoch_time"] or 0.0) > epoch.seconds)
    one = (
        epoch.seconds / epoch.batches,
        f"it is the epoch's time divided by its {epoch.batches} batches",
    )
    wrong = wrong or form.mismatch(row, "epoch_time", epoch.seconds, WHOLE, [*longer, one], more)
    if wrong or "data_wait" not in form.names:
        return wrong
    return form.mismatch(row, "data_wait", epoch.wait, WHOLE, waits)


REPEATED = "the memory was being watched: time first"
WATCHED = {
    "watched": REPEATED,
    "profiled": "the profiler ran",
    "recorded": "gradients were recorded",
    "": "",
}
"""What went on while calls were timed, by the names that `ScriptedCall.counts` and its like have for it."""
COUNTS = list_of(map_of(INTEGER))
"""A value of a probe: these counts, for each row."""


def counts(noted: Iterable[Mapping[str, int]]) -> Iterator[Mapping[str, int]]:
    """Yield the counts of calls for each row, and nothing for rows answered in the student's place."""
    return chain(noted, repeat({}))


def median_problem(
    form: Form,
    row: Row,
    column: str,
    seconds: float,
    repeats: int,
    watched: str = REPEATED,
    calls: Mapping[str, int] = MappingProxyType({}),
) -> str:
    """Say how a column, in milliseconds, is not the median of *repeats* calls of a `rig.scripted_call`.

    *calls* has its counts, where they are known: the calls that were timed are those of which there are most.
    """
    made = max(calls.values(), default=repeats + 1)
    if calls:
        watched = WATCHED.get(max(calls, key=calls.__getitem__), "")
    expected = 1000 * seconds
    mean = expected * (repeats + 3.8) / repeats
    slow = "it includes the slow first call: warm up before"
    while_watched = [
        (expected * 3.0 * times, f"it was timed while {watched}")
        for times in (0.8, 0.95, 1.0, 1.05, 5.0)
        if watched
    ]
    if made < repeats:
        few = (
            f"your code makes fewer calls than repeats: {made} with the warm-up, "
            f"and {repeats + 1} are right"
        )
        wrong = form.mismatch(row, column, expected, timing.EXACT, while_watched, few)
        if wrong:
            return wrong
        figure = f"{column} of {form.name(row)} is {row[column]:.4g}"
        return told_wrong(figure, few, "that number is right")
    usual = [
        (
            mean,
            "it is the mean, so one slow call decides it: take the median",
        ),
        (
            mean + 1000 * timing.COLD / repeats,
            "it is the mean, and it includes the slow first call: warm up before, take the median",
        ),
        (
            expected * 1.05,
            slow
            if made == repeats
            else "fewer calls than repeats are timed, or the slow first call is one of them",
        ),
        (
            expected * 1.025,
            slow,
        ),  # of one call more: between the middle two
        (
            expected * 0.95,
            "it is the median of fewer calls than repeats: time each of them",
        ),
        (expected * 0.8, "it is the fastest call: take the median"),
        (
            expected * 5.0,
            "it is the slowest call, or the only one: take the median of repeats calls",
        ),
        (expected * WALL, f"{JUMPS}: {STEADY}"),
        *((round(expected, digits), "it is rounded: keep all digits") for digits in (1, 2)),
        *while_watched,
        *((expected * p, f"it is {p} times the right time") for p in (0.1, 0.01)),
        (seconds, "it is in seconds"),
        (
            expected * 2.0,
            "its clock is process_time(), which adds up what each thread computes: perf_counter()",
        ),
    ]
    otherwise = (
        f"usually {slow}" if row[column] >= expected + 1000 * timing.COLD / (repeats + 2) else ""
    )
    return form.mismatch(row, column, expected, timing.EXACT, usual, otherwise)


def told(pair: Pair, judged: Verdict, within: float = 1e-5) -> Verdict:
    """Say which usual mistake gives the number that a case failed for, by the baseline's `slips`."""
    for name, usual in pair.baseline.values["slips"].items() if isinstance(judged, Failed) else ():
        begins = f"{named({'case': name})}: "
        if isinstance(judged, Failed) and judged.measured.startswith(begins):
            own = next(got for _, it, got, _ in outputs.paired(pair) if it["case"] == name)
            number = None if own is None else float(own[0])
            why = explained(number, [(it, words) for words, it in usual.items()], within)
            return replace(judged, why=why or judged.why)
    return judged
