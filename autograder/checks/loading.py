"""Judges tables about data loading: a sweep over numbers of workers, and four configurations of one loader.

What they should say follows from a clock whose every move was scripted. Each judge says what is wrong in one sentence,
or nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autograder.checks import table
from autograder.checks.numerics import close, explained

SWEEP = ("num_workers", "throughput", "epoch_time", "data_wait", "without_wait", "device")
SWEEP_NUMBERS = SWEEP[:-1]
COMPARED = (
    "configuration",
    "num_workers",
    "throughput",
    "epoch_time",
    "data_wait",
    "speedup",
    "device",
)
COMPARED_NUMBERS = COMPARED[1:-1]
CONFIGURATIONS = ("Baseline", "+ workers", "+ pin_memory", "+ persistent workers")
EXACT = 0.01  # relative: a scripted clock leaves nothing but rounding
SAME = 0.03  # relative: figures of one row that follow from each other, beyond what is lost to two decimals
LAST = 0.0051  # half of the last of two decimals: an epoch on a GPU may take 0.12 s
ROUNDED = 2 * LAST  # seconds: two figures of two decimals, one taken from the other
LEAST = 1e-9  # seconds
FEWEST = 3  # rows of a sweep that is handed in

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Setting:
    """How a loader reads."""

    workers: int
    stay: bool = False
    ahead: bool = False
    """A prefetch_factor above the usual 2."""


@dataclass(frozen=True)
class Script:
    """What the clock was told, in seconds."""

    samples: int
    batches: int
    pace: Mapping[int, float]
    """Number of workers -> wait for a batch."""
    start: float
    """Of one worker, in each epoch that it does not survive."""
    cold: float
    """More, in the first epoch of each loader."""
    work: float
    """Of one step."""
    further: float
    """What a larger prefetch_factor makes of a wait, as a factor."""
    device: str

    def wait(self, setting: Setting) -> float:
        """Return how long the second epoch waits for data."""
        start = 0.0 if setting.stay else setting.workers * self.start
        return start + self.batches * self.pace[setting.workers] * (
            self.further if setting.ahead else 1.0
        )

    def epoch(self, setting: Setting) -> float:
        """Return how long the second epoch takes."""
        return self.wait(setting) + self.batches * self.work


def settings(best: int) -> tuple[Setting, ...]:
    """Return what each configuration is: on a CPU pinning changes nothing."""
    workers, stay = Setting(best), Setting(best, stay=best > 0, ahead=best > 0)
    return Setting(0), workers, workers, stay


def sweep_problem(rows: Sequence[Row], workers: Sequence[int] | None = None) -> str:
    """Say what is wrong with the form of a sweep, or how a row contradicts itself."""
    form = table.form_problem(rows, SWEEP, SWEEP_NUMBERS, workers)
    if form:
        return form
    numbers = [row["num_workers"] for row in rows]
    if workers is None and (
        len(rows) < FEWEST or numbers[0] != 0 or numbers != sorted(set(numbers))
    ):
        found = ", ".join(f"{number:g}" for number in numbers) or "none"
        return f"the rows are of {found} workers; 0 and at least two other numbers are asked for, each larger"
    odd = next(
        (words for row in rows if (words := _odd(row, f"{row['num_workers']:g} workers"))), ""
    )
    return odd or uneven(rows) or next((words for row in rows if (words := _odd_without(row))), "")


def compared_problem(rows: Sequence[Row]) -> str:
    """Say what is wrong with the form of a comparison, or how its rows contradict each other."""
    form = table.form_problem(rows, COMPARED, COMPARED_NUMBERS, CONFIGURATIONS)
    if form:
        return form
    odd = next((words for row in rows if (words := _odd(row, row["configuration"]))), "")
    if odd:
        return odd
    if told := _uneven_workers(rows):
        return told
    return _speedup(rows) or uneven(rows)


def _speedup(rows: Sequence[Row]) -> str:
    for row in rows:
        ratio = row["throughput"] / rows[0]["throughput"] if rows[0]["throughput"] else math.inf
        if not table.alike(row["speedup"], ratio):
            told = f"speedup of {row['configuration']} is {row['speedup']:.4g}"
            return f"{told}, but its throughput / Baseline's is {ratio:.4g}"
    return ""


def _uneven_workers(rows: Sequence[Row]) -> str:
    workers = [row["num_workers"] for row in rows]
    if workers[0] == 0 and len(set(workers[1:])) == 1:
        return ""
    found = ", ".join(f"{number:g}" for number in workers)
    return f"num_workers are {found}; Baseline has 0, and the others have the same number"


def _workers(rows: Sequence[Row], best: int) -> str:
    used = rows[1]["num_workers"]
    return _uneven_workers(rows) or (
        f"num_workers is {used:g}, and best was {best}" if used != best else ""
    )


def _odd(row: Row, name: str) -> str:
    if not (row["throughput"] > 0 and row["epoch_time"] > 0):
        return f"throughput or epoch_time of {name} is not above 0"
    if not -ROUNDED <= row["data_wait"] <= row["epoch_time"] + ROUNDED:
        return f"data_wait of {name} is {row['data_wait']:.4g} s, and its epoch took {row['epoch_time']:.4g} s"
    return ""


def _odd_without(row: Row) -> str:
    """Compare without_wait with what the other figures make of it, as far as they are rounded."""
    (samples, lost), work = _samples(row), row["epoch_time"] - row["data_wait"]
    low, high = ((samples - way * lost) / max(work + way * ROUNDED, LEAST) for way in (1, -1))
    if low * (1 - SAME) <= row["without_wait"] <= high * (1 + SAME):
        return ""
    told = f"without_wait of {row['num_workers']:g} workers is {row['without_wait']:.4g} samples/s"
    return f"{told}, but samples / (epoch_time - data_wait) is {samples / max(work, LEAST):.4g}"


def uneven(rows: Sequence[Row]) -> str:
    """Say that rows are of two machines, or that throughput and epoch_time belong to other numbers of samples."""
    if device := table.device_problem(rows):
        return device
    first, lost = _samples(rows[0])
    odd = next(
        (n for n, less in map(_samples, rows) if not abs(n - first) <= SAME * first + lost + less),
        None,
    )
    if odd is None:
        return ""
    return f"throughput x epoch_time is {first:.4g} samples in one row and {odd:.4g} in another"


def _samples(row: Row) -> tuple[float, float]:
    """Return throughput x epoch_time, and how far two decimals may have moved it."""
    return row["throughput"] * row["epoch_time"], LAST * (row["throughput"] + row["epoch_time"])


def as_measured(rows: Sequence[Row], own: Sequence[Row]) -> bool:
    """Whether the figures are what the student's own measure_loading gives, right or wrong: it is judged elsewhere."""
    return len(rows) == len(own) and all(
        (told := one.get(name)) is not None and close(row[name], told, EXACT)
        for row, one in zip(rows, own, strict=True)
        for name in ("throughput", "epoch_time", "data_wait")
    )


def sweep_follows(rows: Sequence[Row], own: Sequence[Row], script: Script) -> str:
    """Say how the rest of a sweep does not follow from what was measured."""
    for row, one in zip(rows, own, strict=True):
        work = row["epoch_time"] - row["data_wait"]
        expected = (one.get("samples") or 0.0) / (work or LEAST)
        if expected > 0 and not close(row["without_wait"], expected, SAME):
            told = f"without_wait of {row['num_workers']:g} workers is {row['without_wait']:.4g} samples/s"
            return f"{told}, but samples / (epoch_time - data_wait) is {expected:.4g}"
    return next(filter(None, (_device(row, script) for row in rows)), "")


def compared_follows(rows: Sequence[Row], script: Script, best: int) -> str:
    """Say how the rest of a comparison does not follow from what was measured."""
    return (
        _workers(rows, best)
        or _speedup(rows)
        or next(filter(None, (_device(row, script) for row in rows)), "")
    )


def sweep_figures(rows: Sequence[Row], script: Script) -> str:
    """Say how a sweep differs from what the clock showed."""
    return next(
        (
            w
            for row in rows
            if (w := _told(row, Setting(int(row["num_workers"])), script, "workers"))
        ),
        "",
    )


def compared_figures(rows: Sequence[Row], script: Script, best: int) -> str:
    """Say how a comparison differs from what the clock showed."""
    if told := _workers(rows, best):
        return told
    expected = zip(rows, settings(best), strict=True)
    return next(
        (
            words
            for row, setting in expected
            if (words := _told(row, setting, script, "configuration"))
        ),
        "",
    )


def made_problem(made: Sequence[Mapping[str, int]], pins: int) -> str:
    """Say which loaders were not measured, or pin memory where that is for nothing."""
    measured = [one for one in made if one["epochs"] >= 2]
    if len(measured) < len(CONFIGURATIONS):
        return f"{len(measured)} loaders had a second epoch: a row that repeats the one before is measured again"
    if (found := sum(one["pins"] for one in measured)) != pins:
        return f"{found} loaders pin memory, and {pins or 'none'} should: it is for a GPU, and the last row keeps it"
    return ""


def _told(row: Row, setting: Setting, script: Script, what: str) -> str:
    name = f"{setting.workers} workers" if what == "workers" else row["configuration"]
    total, wait = script.epoch(setting), script.wait(setting)
    if not close(row["throughput"], script.samples / total, EXACT):
        why = explained(row["throughput"], _rates(script, setting), EXACT)
        told = f"throughput of {name} is {row['throughput']:.4g} samples/s where {script.samples / total:.4g} passed"
        return f"{told}: {why}" if why else told
    for figure, seconds in (("epoch_time", total), ("data_wait", wait)):
        if not close(row[figure], seconds, EXACT):
            return f"{figure} of {name} is {row[figure]:.4g} s, and {seconds:.4g} s passed"
    return _device(row, script)


def _device(row: Row, script: Script) -> str:
    if str(row["device"]).strip() == script.device.strip():
        return ""
    return f"the device is called {str(row['device'])[:60]!r}, and its name is {script.device!r}"


def _rates(script: Script, setting: Setting) -> list[tuple[float, str]]:
    """Return the throughput that each usual mistake gives."""
    total, work, workers = script.epoch(setting), script.batches * script.work, setting.workers
    first = total + script.cold + (workers * script.start if setting.stay else 0.0)
    return [
        (
            script.samples / work,
            "it leaves out the wait for data: the clock starts when the batch is there",
        ),
        (
            script.samples / first,
            "it is the first epoch's, which is slower: measure the second one",
        ),
        (
            2 * script.samples / (first + total),
            "it is of both epochs: the first one does not count",
        ),
        (
            script.samples / first / 2 + script.samples / total / 2,
            "it is of both epochs: the first one does not count",
        ),
        (
            script.samples / (first - script.batches * script.work),
            "it is the first epoch's, without the steps",
        ),
        (script.samples / (total - script.batches * script.work), "it leaves out the steps"),
        (
            script.samples / script.epoch(Setting(0)),
            "it is the pace of 0 workers: num_workers was not passed on",
        ),
        (
            script.samples / (total - workers * script.start),
            "it leaves out the start of the workers",
        ),
        (script.batches / total, "it counts batches and not samples"),
        (
            script.samples / script.epoch(Setting(workers)),
            "workers start anew in it, or keep 2 batches ready",
        ),
        (
            script.samples / script.epoch(Setting(workers, ahead=setting.ahead)),
            "workers start anew in each epoch",
        ),
        (
            script.samples / script.epoch(Setting(workers, stay=setting.stay)),
            "prefetch_factor was not passed on",
        ),
    ]


def fastest(rows: Sequence[Row]) -> int:
    """Return the number of workers with the highest throughput; of equal ones, the fewest."""
    return int(min(rows, key=lambda row: (-row["throughput"], row["num_workers"]))["num_workers"])
