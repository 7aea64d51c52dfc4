"""Judges a benchmark of data loaders: batches counted on a scripted clock, a table of configurations, the best of them.

A row has batch_size, num_workers, pin_memory, samples, seconds, throughput and device. Each judge says what is wrong in
one sentence, or nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from autograder.checks import table
from autograder.checks.numerics import explained
from autograder.checks.table_form import DEVICE, Form, Row, Slip, chosen, count, positive, ratio
from autograder.model import Failed, Observation, Passed, Verdict

PROFILED = (
    "this file must be of given/training_unoptimized.py, before any change",
    "this file must be of train_epoch_optimized, with the script's network, and workers",
)
"""What each submitted profile is of: the first without workers, the other with."""
RANGES = ("copy", "forward", "backward", "optimizer_step")
STEPS = 'see "A step that waits for nothing" in the part 2 handout'
KEYS = ("batch_size", "num_workers", "pin_memory")
NAMES = ", ".join(KEYS)
PINS = ("False", "True")
RESULTS = Form(
    "dataloader_results.csv",
    (
        count("batch_size", "samples of a batch"),
        count("num_workers", "processes that read", least=0),
        chosen("pin_memory", "`True` or `False`, as given to the loader", *PINS),
        count("samples", "of the batches that count"),
        positive(
            "seconds", "from the end of the warm-up until the last of them is on the device", "s"
        ),
        ratio("throughput", "samples", "seconds", "samples/s"),
        DEVICE,
    ),
    keys=3,
)
EXACT = 0.01  # relative: a scripted clock leaves nothing but rounding
KNOWN = 1e-4  # relative: so near is a mistake to the figure that it gives, and hardly ever to another one
EACH = 4  # batch sizes, and numbers of workers, of a submitted table
ROUNDS = 2  # batches that each worker delivers while they are counted, at least

Place = tuple[float, float, str]


@dataclass(frozen=True)
class Stream:
    """The batches of one loader, as they were scripted."""

    samples: int
    """Of all batches; the last one may be short."""
    batch_size: int
    waits: Sequence[float]
    """Seconds until each batch is there."""
    start: float
    """Seconds more for the first batch, of each iterator."""
    cold: float
    """And of the first one."""
    warm_up: int
    batches: int

    def counted(self, first: int, batches: int) -> tuple[int, float]:
        """Return how many samples came in so many batches from the first on, and in how many seconds."""
        there = range(first, min(first + batches, -(-self.samples // self.batch_size)))
        sizes = [min(self.batch_size, self.samples - index * self.batch_size) for index in there]
        return sum(sizes), sum(self.waits[index % len(self.waits)] for index in there)

    @property
    def right(self) -> tuple[int, float]:
        """Return samples and seconds of the batches that count."""
        return self.counted(self.warm_up, self.batches)

    def stories(self) -> list[Slip]:
        """Return the throughput that each usual mistake gives."""
        (samples, seconds), (again, anew) = self.right, self.counted(0, self.batches)
        longer, more, skipped = (
            self.counted(first, self.batches + 1)[1]
            for first in (0, self.warm_up, self.warm_up + 1)
        )
        late = self.counted(self.warm_up + 1, self.batches - 1)[1]
        _, whole = self.counted(0, self.warm_up + self.batches)
        full = self.batch_size * self.batches
        another = "a second iterator was begun, so the start of its workers counts"
        beyond = "the time includes the wait for one batch too many"
        return [
            (full / (self.start + longer), f"{another}; and {beyond}"),
            (again / (self.start + anew), another),
            (samples / more, beyond),
            (samples / skipped, beyond),
            (samples / late, "the time leaves out the wait for the first batch that counts"),
            (full / seconds, "your code counts batches that never came"),
            (self.batches / seconds, "your code counts batches, not samples"),
            (samples / (self.start + self.cold + whole), "the warm-up is timed"),
            (again / (self.start + self.cold + anew), "there is no warm-up"),
        ]


def figure_problem(row: Row, stream: Stream, others: Sequence[Slip] = ()) -> str:
    """Say how samples, seconds and throughput are not what was scripted; *others* are paces they might be instead."""
    samples, seconds = stream.right
    slip = explained(row["throughput"], [*stream.stories(), *others], KNOWN)
    return (
        RESULTS.mismatch(row, "throughput", samples / seconds, EXACT, otherwise=slip)
        or RESULTS.mismatch(row, "samples", samples, EXACT)
        or RESULTS.mismatch(
            row, "seconds", seconds, EXACT, [(1e3 * seconds, "it is in milliseconds")]
        )
    )


def place(row: Row) -> Place:
    """Return which configuration a row is of."""
    return row["batch_size"], row["num_workers"], row["pin_memory"]


def whole_problem(rows: Sequence[Row]) -> str:
    """Say what a table lacks that is to hold each combination once, measured over as many batches."""
    sizes, workers = (sorted({row[name] for row in rows}) for name in KEYS[:2])
    if len(sizes) < EACH or len(workers) < EACH or workers[0] != 0:
        listed = ", ".join(f"{number:g}" for number in workers)
        held = f"it has {len(sizes)} batch sizes and {listed} workers"
        return f"{held}; it needs {EACH} of each, with 0 workers among them"
    places = [place(row) for row in rows]
    for configuration in product(sizes, workers, PINS):
        if configuration not in places:
            return f"{_plain(configuration)} is missing"
    if len(places) > len(set(places)):
        return "a configuration has two rows"
    counts = {row["samples"] / row["batch_size"] for row in rows}
    if len(counts) > 1:
        return f"rows count {min(counts):.4g} to {max(counts):.4g} batches; all must count as many"
    least = ROUNDS * workers[-1]
    if min(counts) < least:
        return (
            f"rows count {min(counts):g} batches; {workers[-1]:g} workers need at least {least:g}"
        )
    return ""


def streams(script: Mapping[str, Any], cold: float) -> list[Stream]:
    """Return the batches of each configuration, as they were scripted."""
    places = product(script["sizes"], script["workers"], PINS)
    once = {name: script[name] for name in ("samples", "start", "warm_up", "batches")}
    return [
        Stream(**once, batch_size=size, waits=[pace * wait for wait in script["waits"]], cold=cold)
        for (size, _, _), pace in zip(places, script["pace"], strict=True)
    ]


def paces_problem(rows: Sequence[Row], streams: Sequence[Stream], device: str) -> str:
    """Say how a row differs from what was scripted for its configuration; the rows are all there, in order."""
    others = [
        (stream.right[0] / stream.right[1], f"that is the figure of {RESULTS.name(row)}")
        for row, stream in zip(rows, streams, strict=True)
    ]
    problems = (
        figure_problem(row, stream, others) for row, stream in zip(rows, streams, strict=True)
    )
    return next(filter(None, problems), "") or table.other_device(rows, device)


def fastest(rows: Sequence[Row]) -> Place:
    """Return the configuration with the highest throughput; of equal ones, the first."""
    return place(max(rows, key=lambda row: row["throughput"]))


def choice(answer: Mapping[str, Any]) -> Place | None:
    """Return what a student's choice names, or nothing; whole numbers may be floats, True may be text."""
    size, workers, pin = (answer.get(key) for key in KEYS)
    if isinstance(size, bool) or str(pin) not in PINS:
        return None
    if not isinstance(size, float | int) or not isinstance(workers, float | int):
        return None
    return size, workers, str(pin)


def chose(answer: Mapping[str, Any]) -> str:
    """Say what a student's choice holds."""
    if named := choice(answer):
        return f"your code returned {_plain(named)}"
    held = ", ".join(f"{name!r}: {repr(it).removesuffix('.0')}" for name, it in answer.items())
    return f"your code returned {{{held[:150]}}}"


def optimum_problem(text: str, rows: Sequence[Row]) -> str:
    """Say how a file with the best configuration is not one, or not of the table that it came with."""
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        return f"the file is not JSON; it must be an object of {NAMES}"
    whole = isinstance(answer, dict) and set(answer) == set(KEYS)
    chosen_place = choice(answer) if whole else None
    if chosen_place is None:
        return f"the object must hold {NAMES}, and nothing else"
    return choice_problem(chosen_place, rows)


def choice_problem(chosen_place: Place | None, rows: Sequence[Row]) -> str:
    """Say how a choice is not the best row of a table."""
    right = fastest(rows)
    if chosen_place == right:
        return ""
    rates = {place(row): row["throughput"] for row in rows}
    best = f"{_plain(right)} has {rates[right]:.4g} samples/s"
    if chosen_place is None:
        return f"the answer must have the keys {NAMES}, and the values of a row"
    if chosen_place not in rates:
        return f"the answer must be a row of the table, and {best}"
    if rates[chosen_place] == rates[right]:
        return f"of two that are as fast, the first must be taken, {_plain(right)}"
    taken = f"{_plain(chosen_place)} has {rates[chosen_place]:.4g} samples/s"
    return f"{taken}, but the fastest must be taken: {best}"


def _plain(configuration: Place) -> str:
    return RESULTS.name(dict(zip(KEYS, configuration, strict=True)))


def marked(ranges: Observation) -> Verdict:
    """Pass when each step has each range once, and on_step comes at its end."""
    batches, early = ranges.values["batches"], ranges.values["early"]
    if early:
        why = "your code calls on_step() too early: the rest of the step counts for the next one"
        measured = f"{early} of {batches} calls of on_step came before the optimizer's step"
        return Failed(measured, why, "call on_step() after optimizer.step()")
    for name, times in ranges.values["entered"].items():
        if times != batches:
            why = "each step must enter each range once: a profile adds up all entries of a name"
            measured = f"range '{name}' was entered {times} times in {batches} steps"
            return Failed(measured, why, f'put all of "{name}" into one with span("{name}")')
    return Passed(f"{batches} steps, each with {len(RANGES)} ranges")
