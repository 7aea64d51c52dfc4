"""Judges tables about data loading: a sweep over numbers of workers, and four configurations of one loader.

What they should say follows from a clock whose every move was scripted. Each judge says what is wrong in one sentence,
or nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from autograder.checks import slips
from autograder.checks.numerics import close
from autograder.checks.slips import Epoch
from autograder.checks.table_form import (
    DEVICE,
    ROUNDED,
    Form,
    Row,
    Slip,
    any_number,
    count,
    positive,
    ratio,
    samples_problem,
    words,
)

MEASURED = (
    positive("throughput", "over whole iterations, waiting for data included", "samples/s"),
    positive("epoch_time", "of the measured epoch, the second one of its loader", "s"),
    any_number("data_wait", "the part of it spent waiting for the loader", "s"),
)
SWEEP = Form(
    "worker_sweep.csv",
    (
        count(
            "num_workers",
            "worker processes: 0 in the first row, a larger number in each next row",
            least=0,
        ),
        *MEASURED,
        positive("without_wait", "samples / (epoch_time - data_wait)", "samples/s"),
        DEVICE,
    ),
    waits_in="epoch_time",
)
COMPARED = Form(
    "dataloader_results.csv",
    (
        words("configuration", "the four rows in the order above"),
        count("num_workers", "0 for Baseline, else the fastest of worker_sweep.csv", least=0),
        *MEASURED,
        ratio("speedup", "throughput", "first throughput"),
        DEVICE,
    ),
    rows=("Baseline", "+ workers", "+ pin_memory", "+ persistent workers"),
    waits_in="epoch_time",
)
EXACT = 0.01  # relative: a scripted clock leaves nothing but rounding
SAME = 0.03  # relative: figures of one row that follow from each other, beyond what is lost to two decimals
APART = 0.5  # seconds: so far is the epoch of any number of workers from that of none
COLD, FURTHER = 3.0, 0.8  # seconds; what a prefetch_factor above 2 makes of a wait
LEAST = 1e-9  # seconds
FASTER = 0.9  # of a wait: in the epochs after the second
LATER = "it is of an epoch after the second"
FEWEST = 3  # rows of a sweep that is handed in


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
    workers: Sequence[int]
    pace: Sequence[float]
    """Of each number of workers: the wait for a batch."""
    start: float
    """Of one worker, in each epoch that it does not survive."""
    work: float
    """Of one step."""
    late: int = -1
    """The number of workers whose second epoch is the colder one, if there is any."""

    def epoch(self, setting: Setting) -> Epoch:
        """Return the second epoch of a loader; the first one is mostly colder, and starts workers that stay."""
        starts = setting.workers * self.start
        pace = self.pace[self.workers.index(setting.workers)]
        wait = self.batches * pace * (FURTHER if setting.ahead else 1.0)
        cold = COLD
        if setting.workers == self.late:
            wait, cold = wait + COLD, -COLD
        if setting.stay:
            return Epoch(self.samples, self.batches, wait, self.work, cold + starts)
        return Epoch(self.samples, self.batches, wait + starts, self.work, cold)

    def slower(self) -> list[float]:
        """Return by how many seconds an epoch of each number of workers is slower than one without."""
        without, *others = (self.epoch(Setting(number)).seconds for number in self.workers)
        return [seconds - without for seconds in others]

    def tells_apart(self) -> bool:
        """Whether some number of workers is slower than none, and all are far from none."""
        return max(self.slower()) >= APART <= min(map(abs, self.slower()))


def settings(best: int) -> tuple[Setting, ...]:
    """Return what each configuration is: on a CPU pinning changes nothing."""
    workers = Setting(best)
    return Setting(0), workers, workers, Setting(best, stay=best > 0, ahead=best > 0)


def sweep_problem(rows: Sequence[Row]) -> str:
    """Say how the rows of a sweep, each in the right form, contradict themselves."""
    why = samples_problem(rows, SAME)
    worked = [{**row, "epoch_time": row["epoch_time"] - row["data_wait"]} for row in rows]
    alike = all(close(row["throughput"], row["without_wait"], EXACT) for row in rows)
    if why and alike and not samples_problem(worked, SAME):
        return "throughput equals without_wait in each row: the wait for data is left out"
    return why or next(filter(None, map(without_problem, rows)), "")


def numbers_problem(rows: Sequence[Row]) -> str:
    """Say that a sweep has not 0 workers and several other numbers."""
    numbers = [row["num_workers"] for row in rows]
    if len(rows) >= FEWEST and numbers[0] == 0 and numbers == sorted(set(numbers)):
        return ""
    listed = ", ".join(f"{number:g}" for number in numbers)
    return f"the rows are of {listed} workers, but should be of 0 and at least two larger numbers"


def workers_problem(rows: Sequence[Row], best: int | None = None) -> str:
    """Say that a comparison is not of none and three times the *best* number of workers."""
    workers = [row["num_workers"] for row in rows]
    used = workers[1] if best is None else best
    if workers == [0, used, used, used]:
        return ""
    listed = ", ".join(f"{number:g}" for number in workers)
    number = "one number" if best is None else best
    return f"num_workers are {listed}, but must be 0 for Baseline, and {number} in three rows"


def without_problem(row: Row, samples: float = 0.0) -> str:
    """Compare without_wait with what the other figures make of it, rounded or not."""
    samples = samples or row["throughput"] * row["epoch_time"]
    work = row["epoch_time"] - row["data_wait"]
    without = row["without_wait"]
    lost = ROUNDED * (row["throughput"] + row["epoch_time"] + abs(work) + 2 * abs(without))
    if abs(without * work - samples) <= SAME * samples + lost:
        return ""
    reported = f"without_wait of {SWEEP.name(row)} is {without:.4g} samples/s"
    return f"{reported}, but samples / (epoch_time - data_wait) is {samples / (work or LEAST):.4g}"


def as_measured(rows: Sequence[Row], own: Sequence[Row]) -> bool:
    """Whether the figures are what the student's own measure_loading gives, right or wrong."""
    return len(rows) == len(own) and all(
        (measured := figures.get(name)) is not None and close(row[name], measured, EXACT)
        for row, figures in zip(rows, own, strict=True)
        for name in ("throughput", "epoch_time", "data_wait")
    )


def figures_problem(
    form: Form, rows: Sequence[Row], expected: Sequence[Setting], script: Script
) -> str:
    """Say how a row differs from what the clock showed of its setting."""
    for row, setting in zip(rows, expected, strict=True):
        epoch = script.epoch(setting)
        if wrong := slips.time_problem(form, row, epoch, _slips(script, setting), EXACT):
            return wrong
    return ""


def _slips(script: Script, setting: Setting) -> list[Slip]:
    """Return the throughput that each usual mistake gives."""
    epoch, workers = script.epoch(setting), setting.workers
    second, first = epoch.seconds, epoch.seconds + epoch.cold
    faster = ", the faster one" * (workers == script.late)
    both = "it is of both epochs, but the first should not count"
    seconds = [
        (first, f"it is of the first epoch{faster}: keep the second"),
        (first - epoch.batches * epoch.work, "it is of the first epoch, which took no step"),
        ((first + second) / 2, both),
        (2 * first * second / (first + second), both),
        (_third(script, setting), LATER),
        (script.epoch(Setting(0)).seconds, "it is the speed of 0 workers: pass num_workers on"),
        (second - workers * script.start, "it leaves out the start of the workers"),
        (
            script.epoch(Setting(workers)).seconds,
            "persistent_workers and prefetch_factor were not passed on",
        ),
        (
            script.epoch(replace(setting, stay=False)).seconds,
            "persistent_workers was not passed on",
        ),
        (script.epoch(replace(setting, ahead=False)).seconds, "prefetch_factor was not passed on"),
    ]
    return [*epoch.slips()[1:], *((epoch.samples / took, why) for took, why in seconds)]


def _third(script: Script, setting: Setting) -> float:
    """Return the seconds of a third epoch, and of any later one."""
    epoch = script.epoch(setting)
    starts = 0.0 if setting.stay else setting.workers * script.start
    late = COLD if setting.workers == script.late else 0.0
    return epoch.seconds - late - (1 - FASTER) * (epoch.wait - late - starts)


def made_problem(made: Sequence[Mapping[str, int]], pins: int) -> str:
    """Say which loaders were not measured, or pin memory where that is for nothing."""
    measured = [loader for loader in made if loader.get("epochs", 0) >= 2]
    if len(measured) < len(COMPARED.rows or ()):
        return f"{len(measured)} loaders had a second epoch, and 4 are right"
    count = sum(loader.get("pins", 0) for loader in measured)
    return "" if count == pins else f"{count} loaders pin memory, and {pins} is right"


def fastest(rows: Sequence[Row]) -> int:
    """Return the number of workers with the highest throughput; of equal ones, the fewest."""
    return int(min(rows, key=lambda row: (-row["throughput"], row["num_workers"]))["num_workers"])
