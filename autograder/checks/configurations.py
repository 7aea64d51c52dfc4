"""Judges runs of a training program on a scripted clock, and the table that compares them; says what follows from it.

A row has the configuration, the one it builds on, the figures of its run, speedup, gain and device. Each judge says
what is wrong in one sentence, or nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autograder.checks import table
from autograder.checks.forms import (
    DEVICE,
    Column,
    Form,
    any_number,
    not_negative,
    percent,
    positive,
    words,
)
from autograder.checks.numerics import close, explained, shown
from autograder.checks.timing import JUMPS, STEADY, WALL

FIGURES = (
    "throughput",
    "epoch_time",
    "data_wait",
    "warm_up_s",
    "peak_memory_mb",
    "loss",
    "accuracy",
)
BUILDS_ON = {
    "Baseline": "",
    "Data loader": "Baseline",
    "AMP": "Data loader",
    "Compile": "AMP",
    "Accumulation": "AMP",
    "Checkpointing": "AMP",
}
RESULTS = Form(
    "optimization_results.csv",
    (
        words("configuration", "one row each, in their order"),
        Column(
            "builds_on", "the configuration that this one adds something to; empty for Baseline", {}
        ),
        positive("throughput", "waiting for data included", "samples/s"),
        positive("epoch_time", "of a measured epoch", "s"),
        any_number("data_wait", "of it spent waiting for the loader", "s"),
        not_negative("warm_up_s", "the warm-up before, builds included", "s"),
        positive(
            "peak_memory_mb",
            "most memory of the process, 1e6 bytes: the GPU's, or the host's without one",
            "MB",
        ),
        any_number("loss", "mean over the last epoch"),
        percent("accuracy", "of the samples of the last epoch"),
        positive("speedup", "throughput / that of Baseline", "x"),
        positive("gain", "throughput / that of the row it builds on; 1 for Baseline", "x"),
        DEVICE,
    ),
    rows=tuple(BUILDS_ON),
)
PACE, WHOLE = (
    0.01,
    0.05,
)  # relative: of throughput, of which a stem is 2 %; of seconds, which may hold a little more
SAME = 0.03  # relative: numbers of samples that follow from rounded figures
ROUNDED = 0.011  # seconds: two figures of two decimals, one taken from the other

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Script:
    """What the clock was told, in seconds: the waits of an epoch, a batch's work, and what comes once."""

    samples: int
    batches: int
    wait: float
    work: float
    plain: float
    """Of a batch where the option is not applied."""
    once: float
    """The slow first pass, and builds."""
    uneven: float = 0.0
    """The share by which one of two epochs waits longer, and the other less long."""

    @property
    def seconds(self) -> float:
        """Return how long an epoch takes, in the mean."""
        return self.wait + self.batches * self.work


def pace_problem(told: Row, script: Script) -> str:
    """Say how throughput, epoch_time or data_wait of a run are not what passed."""
    rate = script.samples / script.seconds
    if not close(told["throughput"], rate, PACE):
        once = "it includes what happens once: warm up before, in the same modes"
        why = explained(told["throughput"], _rates(script), PACE) or once * holds_once(
            told["throughput"], script
        )
        return f"throughput is {shown(told['throughput'])} samples/s where {rate:.4g} passed{': ' * bool(why)}{why}"
    if not close(told["epoch_time"], script.seconds, WHOLE):
        return f"epoch_time is {shown(told['epoch_time'])} s, and an epoch took {script.seconds:.4g} s in the mean"
    if not close(told["data_wait"], script.wait, WHOLE):
        return f"data_wait is {shown(told['data_wait'])} s, and an epoch waited {script.wait:.4g} s in the mean"
    return ""


def _rates(script: Script) -> list[tuple[float, str]]:
    apart = script.wait * script.uneven
    rates = [script.samples / (script.seconds + it) for it in (apart, -apart)]
    return [
        (script.samples / (script.seconds - script.wait), "it leaves out the wait for data"),
        (script.samples / script.seconds / WALL, f"{JUMPS}: {STEADY}"),
        (
            2 * script.samples / script.seconds,
            "it counts the samples of all epochs, and the seconds of one",
        ),
        (
            script.samples / script.seconds / 2,
            "it counts the samples of one epoch, and the seconds of two",
        ),
        *(
            (rate, "it is the rate of one epoch: divide the samples of all by the seconds of all")
            for rate in rates
        ),
        (
            sum(rates) / 2,
            "it is the mean of the epochs' rates: divide the samples of all by the seconds of all",
        ),
    ]


def holds_once(rate: Any, script: Script) -> bool:
    """Whether a throughput is so low that a slow first pass, or a build, is among its seconds."""
    return isinstance(rate, float) and rate < script.samples / (script.seconds + script.once / 10)


def row_problem(rows: Sequence[Row], builds_on: Mapping[str, str] = BUILDS_ON) -> str:
    """Say what is wrong with the form of the rows, or how they contradict themselves."""
    odd = RESULTS.problem(rows, tuple(builds_on)) or next(
        (why for row in rows if (why := _odd(row, builds_on))), ""
    )
    return odd or _uneven(rows) or _ratio_problem(rows)


def _odd(row: Row, builds_on: Mapping[str, str]) -> str:
    name = row["configuration"]
    if (row["builds_on"] or "") != builds_on[name]:
        return f"builds_on of {name} is {row['builds_on']!r}, and it builds on {builds_on[name]!r}"
    if not -ROUNDED <= row["data_wait"] <= row["epoch_time"] + ROUNDED:
        return f"data_wait of {name} is {row['data_wait']:.4g} s, and its epoch took {row['epoch_time']:.4g} s"
    return ""


def _uneven(rows: Sequence[Row]) -> str:
    counts = [row["throughput"] * row["epoch_time"] for row in rows]
    for row, count in zip(rows, counts, strict=True):
        if not close(count, counts[0], SAME):
            told = f"throughput x epoch_time of {row['configuration']} is {count:.4g} samples"
            return f"{told}, and {counts[0]:.4g} in the first row"
    return ""


def _ratio_problem(rows: Sequence[Row]) -> str:
    rates = {row["configuration"]: row["throughput"] for row in rows}
    for row in rows:
        own = row["throughput"]
        for column, other in (("speedup", rows[0]["configuration"]), ("gain", row["builds_on"])):
            expected = own / rates.get(other, own)
            if not table.alike(row[column], expected):
                told = f"{column} of {row['configuration']} is {row[column]:.4g}"
                return f"{told}, but its throughput / that of {other or 'its own row'} is {expected:.4g}"
    return ""


def copied_problem(rows: Sequence[Row], runs: Mapping[str, Row]) -> str:
    """Say which figure of a row is not the one that its run printed."""
    for row in rows:
        printed = runs[row["configuration"]]
        for name in FIGURES:
            if not table.alike(row[name], printed[name]):
                told = f"{name} of {row['configuration']} is {row[name]:.4g}, and its run printed {printed[name]:.4g}"
                return told + _leak(name, row[name], printed[name])
        if row["device"].strip() != printed["device"]:
            return f"the device is called {row['device'][:60]!r}, and the run printed {printed['device']!r}"
    return ""


def _leak(name: str, told: float, printed: float) -> str:
    stories = [
        (
            3 * printed,
            ": it ran in the process of an earlier run, and what that left behind reaches it; start one for each",
        ),
        (
            5 * printed,
            ": it ran under another Python than the one that started it, which is sys.executable",
        ),
        (
            printed / 2,
            ": another run took its cores at the same time; start one when the last has ended",
        ),
    ]
    return explained(told, stories, 0.01) if name == "throughput" else ""


def summary_of(rows: Sequence[Row]) -> dict[str, Any]:
    """Return what summarize is to return."""
    base = rows[0]

    def best(column: str, sign: int) -> tuple[Row, float]:
        row = max(rows, key=lambda it: sign * it[column])
        return row, row[column] / base[column]

    (quick, faster), (small, share) = best("throughput", 1), best("peak_memory_mb", -1)
    return {
        "fastest": quick["configuration"],
        "speedup": faster,
        "time_saved_s": base["epoch_time"] - quick["epoch_time"],
        "leanest": small["configuration"],
        "memory_saved_percent": 100 - 100 * share,
    }


def slips(name: str, right: Any) -> list[tuple[float, str]]:
    """Return numbers that a figure of the summary is known to be mistaken for, and how."""
    if name != "memory_saved_percent":
        return []
    lean = "it is a percentage of the leanest peak, and not of the first row's"
    return [(right / 100, "it is a fraction, not percent"), (100 * right / (100 - right), lean)]


# Of the device that the rows name: what no unit but the one asked for can give. Not what is good.
BANDS = {
    "throughput": (0.01, 1e6, "samples/s"),
    "peak_memory_mb": (50.0, 1e6, "MB: PyTorch alone takes more than 50"),
    "loss": (
        0.0,
        10.0,
        "the mean cross-entropy of 10 classes: ln(10) = 2.30 when nothing is learnt",
    ),
    "epoch_time": (0.01, 1e5, "s"),
}


def implausible(rows: Sequence[Row]) -> str:
    """Say which figure no run of this lab gives, so that its unit or its origin is another one."""
    for row in rows:
        for name, (least, most, unit) in BANDS.items():
            if not least <= row[name] <= most:
                return f"{name} of {row['configuration']} is {row[name]:.4g}; it is in {unit}"
    return ""
