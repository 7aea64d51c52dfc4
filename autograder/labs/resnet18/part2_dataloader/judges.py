"""Judges tables about data loading: a sweep over numbers of workers, and four configurations of one loader.

What they should say follows from a clock whose every move was scripted. Each judge says what is wrong in one sentence,
or nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from autograder.checks import slips, table
from autograder.checks.numerics import close
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
    any_number("data_wait", "of it spent waiting for the loader", "s"),
)
SWEEP = Form(
    "worker_sweep.csv",
    (
        count("num_workers", "worker processes: 0 in the first row, then more and more", least=0),
        *MEASURED,
        positive("without_wait", "samples / (epoch_time - data_wait)", "samples/s"),
        DEVICE,
    ),
    waits_in="epoch_time",
)
COMPARED = Form(
    "dataloader_results.csv",
    (
        words("configuration", "four rows, in their order"),
        count("num_workers", "0 for Baseline; else the fastest of worker_sweep.csv", least=0),
        *MEASURED,
        ratio("speedup", "throughput", "first throughput"),
        DEVICE,
    ),
    rows=("Baseline", "+ workers", "+ pin_memory", "+ persistent workers"),
    waits_in="epoch_time",
)
EXACT = 0.01  # relative: a scripted clock leaves nothing but rounding
SAME = 0.03  # relative: figures of one row that follow from each other, beyond what is lost to two decimals
LEAST = 1e-9  # seconds
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
        share = self.further if setting.ahead else 1.0
        return start + self.batches * self.pace[setting.workers] * share

    def epoch(self, setting: Setting) -> float:
        """Return how long the second epoch takes."""
        return self.wait(setting) + self.batches * self.work


def settings(best: int) -> tuple[Setting, ...]:
    """Return what each configuration is: on a CPU pinning changes nothing."""
    workers = Setting(best)
    return Setting(0), workers, workers, Setting(best, stay=best > 0, ahead=best > 0)


def sweep_problem(rows: Sequence[Row]) -> str:
    """Say how the rows of a sweep, each in the right form, contradict themselves."""
    return samples_problem(rows, SAME) or next(filter(None, map(_odd_without, rows)), "")


def numbers_problem(rows: Sequence[Row]) -> str:
    """Say that a sweep has not 0 workers and several other numbers."""
    numbers = [row["num_workers"] for row in rows]
    if len(rows) >= FEWEST and numbers[0] == 0 and numbers == sorted(set(numbers)):
        return ""
    listed = ", ".join(f"{number:g}" for number in numbers)
    return (
        f"the rows are of {listed} workers, "
        "but should be of 0 and at least two more numbers, each larger"
    )


def compared_problem(rows: Sequence[Row]) -> str:
    """Say how the rows of a comparison, each in the right form, contradict each other."""
    return _uneven_workers(rows) or samples_problem(rows, SAME)


def _uneven_workers(rows: Sequence[Row]) -> str:
    workers = [row["num_workers"] for row in rows]
    if workers[0] == 0 and len(set(workers[1:])) == 1:
        return ""
    listed = ", ".join(f"{number:g}" for number in workers)
    return f"num_workers are {listed}, but should be 0 for Baseline and one number for the others"


def workers_problem(rows: Sequence[Row], best: int) -> str:
    """Say that a comparison is not of the best number of workers."""
    used = rows[1]["num_workers"]
    other = "" if used == best else f"num_workers is {used:g}, but best is {best}"
    return _uneven_workers(rows) or other


def _odd_without(row: Row) -> str:
    """Compare without_wait with what the other figures make of it, as far as they are rounded."""
    samples = row["throughput"] * row["epoch_time"]
    work = row["epoch_time"] - row["data_wait"]
    lost = ROUNDED * (row["throughput"] + row["epoch_time"])
    low, high = ((samples - way * lost) / max(work + way * 2 * ROUNDED, LEAST) for way in (1, -1))
    if low * (1 - SAME) <= row["without_wait"] <= high * (1 + SAME):
        return ""
    reported = f"without_wait of {SWEEP.name(row)} is {row['without_wait']:.4g} samples/s"
    return f"{reported}, but samples / (epoch_time - data_wait) is {samples / max(work, LEAST):.4g}"


def as_measured(rows: Sequence[Row], own: Sequence[Row]) -> bool:
    """Whether the figures are what the student's own measure_loading gives, right or wrong: it is judged elsewhere."""
    return len(rows) == len(own) and all(
        (measured := figures.get(name)) is not None and close(row[name], measured, EXACT)
        for row, figures in zip(rows, own, strict=True)
        for name in ("throughput", "epoch_time", "data_wait")
    )


def without_problem(rows: Sequence[Row], own: Sequence[Row]) -> str:
    """Say how without_wait does not follow from what was measured, right or wrong."""
    for row, figures in zip(rows, own, strict=True):
        work = row["epoch_time"] - row["data_wait"]
        expected = (figures.get("samples") or 0.0) / (work or LEAST)
        wrong = SWEEP.mismatch(row, "without_wait", expected, SAME)
        if wrong and expected > 0:
            return f"{wrong}: samples / (epoch_time - data_wait)"
    return ""


def figures_problem(
    form: Form, rows: Sequence[Row], expected: Sequence[Setting], script: Script
) -> str:
    """Say how a row differs from what the clock showed of its setting."""
    for row, setting in zip(rows, expected, strict=True):
        total, usual = script.epoch(setting), _slips(script, setting)
        wrong = (
            form.mismatch(row, "throughput", script.samples / total, EXACT, usual)
            or form.mismatch(row, "epoch_time", total, EXACT)
            or form.mismatch(row, "data_wait", script.wait(setting), EXACT)
        )
        if wrong:
            return wrong
    return table.other_device(rows, script.device)


def _slips(script: Script, setting: Setting) -> list[Slip]:
    """Return the throughput that each usual mistake gives."""
    total = script.epoch(setting)
    work = script.batches * script.work
    workers = setting.workers
    first = total + script.cold + (workers * script.start if setting.stay else 0.0)
    both = "it is of both epochs, but the first one should not count"
    seconds = [
        (work, f"{slips.NO_WAIT}: the clock starts when the batch is there"),
        (first, "it is of the first epoch, which is slower: measure the second one"),
        ((first + total) / 2, both),
        (2 / (1 / first + 1 / total), both),
        (first - work, "it is of the first epoch, without the steps"),
        (total - work, "it leaves out the steps"),
        (script.epoch(Setting(0)), "it is the speed of 0 workers: num_workers was not passed on"),
        (total - workers * script.start, "it leaves out the start of the workers"),
        (total * script.samples / script.batches, slips.BATCHES),
        (script.epoch(Setting(workers)), "workers start again in it, or keep only 2 batches ready"),
        (script.epoch(replace(setting, stay=False)), "workers start again in each epoch"),
        (script.epoch(replace(setting, ahead=False)), "prefetch_factor was not passed on"),
    ]
    return [(script.samples / took, why) for took, why in seconds]


def made_problem(made: Sequence[Mapping[str, int]], pins: int) -> str:
    """Say which loaders were not measured, or pin memory where that is for nothing."""
    measured = [loader for loader in made if loader["epochs"] >= 2]
    if len(measured) < len(COMPARED.rows or ()):
        return (
            f"only {len(measured)} loaders had a second epoch: "
            "measure each row, even one with the same options as the row before"
        )
    count = sum(loader["pins"] for loader in measured)
    if count == pins:
        return ""
    return (
        f"{count} loaders pin memory, but {pins or 'none'} should: "
        "only for a GPU, in the last two rows"
    )


def fastest(rows: Sequence[Row]) -> int:
    """Return the number of workers with the highest throughput; of equal ones, the fewest."""
    return int(min(rows, key=lambda row: (-row["throughput"], row["num_workers"]))["num_workers"])
