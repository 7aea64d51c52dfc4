"""Judges runs of a training program on a scripted clock, and a table of configurations; says what follows from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autograder.checks import slips, table
from autograder.checks.numerics import close, explained, shown
from autograder.checks.table_form import (
    DEVICE,
    Column,
    Form,
    Row,
    Slip,
    any_number,
    fraction_problem,
    not_negative,
    percent,
    positive,
    ratio,
    samples_problem,
    words,
)

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
            "builds_on",
            "the configuration that this one adds something to; empty for Baseline",
            {},
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
        ratio("speedup", "throughput", "first throughput"),
        positive(
            "gain",
            "throughput / that of the row it builds on; 1 for Baseline",
            "x",
        ),
        DEVICE,
    ),
    rows=tuple(BUILDS_ON),
    waits_in="epoch_time",
)
PACE = 0.01  # relative: of throughput, of which a stem is 2 %
WHOLE = slips.WHOLE  # relative: of seconds
SAME = 0.03  # relative: numbers of samples that follow from rounded figures


@dataclass(frozen=True)
class Script(slips.Epoch):
    """What the clock was told of a run of two epochs: their mean, and what else a mistake may show."""

    plain: float = 0.0
    """Of a batch where the option is not applied."""
    once: float = 0.0
    """The slow first pass, and builds."""
    uneven: float = 0.0
    """The share by which one of two epochs waits longer, and the other less long."""

    def slips(self) -> list[Slip]:
        """Return the throughput that each usual mistake gives."""
        apart = self.wait * self.uneven
        rates = [self.samples / (self.seconds + it) for it in (apart, -apart)]
        whole = "divide the samples of all epochs by the seconds of all epochs"
        return [
            *super().slips(),
            (2 * self.rate, "it is twice the right one"),
            (self.rate / 2, "it is half the right one"),
            *((rate, f"it is the rate of one epoch: {whole}") for rate in rates),
            (sum(rates) / 2, f"it is the mean of the epochs' rates: {whole}"),
        ]


def pace_problem(row: Row, script: Script) -> str:
    """Say how throughput, epoch_time or data_wait of a run are not what passed, in the mean of its epochs."""
    once = "usually it includes what only the first whole step does"
    otherwise = once if holds_once(row["throughput"], script) else ""
    both = "it is the sum of two epochs, and their mean is expected"
    one = "it is that of one epoch, and the mean of two is expected"
    apart = script.wait * script.uneven
    longer, waits = (
        [(2 * mean, both), *((mean + it, one) for it in (apart, -apart) if it)]
        for mean in (script.seconds, script.wait)
    )
    return slips.time_problem(RESULTS, row, script, script.slips(), PACE, otherwise, waits, longer)


def holds_once(rate: Any, script: Script) -> bool:
    """Whether a throughput is so low that a slow first pass, or a build, is among its seconds."""
    return isinstance(rate, float) and rate < script.samples / (script.seconds + script.once / 10)


def row_problem(rows: Sequence[Row], builds_on: Mapping[str, str] = BUILDS_ON) -> str:
    """Say how configurations contradict each other, or what they build on."""
    for row in rows:
        asked = builds_on[row["configuration"]]
        name = row["configuration"]
        if (row["builds_on"] or "") != asked:
            return f"builds_on of {name} is {row['builds_on']!r}, and {asked!r} is right"
    return samples_problem(rows, SAME, rounded=0.0) or _gain_problem(rows)


def _gain_problem(rows: Sequence[Row]) -> str:
    rates = {row["configuration"]: row["throughput"] for row in rows}
    for row in rows:
        base = row["builds_on"] or row["configuration"]
        expected = row["throughput"] / rates.get(base, row["throughput"])
        if not table.alike(row["gain"], expected):
            measured = f"gain of {row['configuration']} is {row['gain']:.4g}"
            return f"{measured}, but its throughput / that of {base} is {expected:.4g}"
    return ""


def copied_problem(
    form: Form,
    figures: Sequence[str],
    rows: Sequence[Row],
    runs: Sequence[Row],
) -> str:
    """Say which figure of a row is not the one that its run printed, or that its profile shows."""
    for row, printed in zip(rows, runs, strict=True):
        for name in figures:
            if not table.alike(row[name], printed[name]):
                whose = (
                    "its profile shows"
                    if name == "busy_percent"
                    else "the last line of a run with its options has"
                )
                leaks = _leaks(rows, runs, printed[name]) if name == "throughput" else []
                leak, right = explained(row[name], leaks, 0.01), shown(printed[name])
                beside = f"where {right} is right" if leak else f"and {whose} {right}"
                return f"{name} of {form.name(row)} is {row[name]:.4g}, {beside}{leak}"
    return table.other_device(rows, runs[0]["device"])


def _leaks(rows: Sequence[Row], runs: Sequence[Row], printed: float) -> list[Slip]:
    """Return what a made program prints that notices how it was started, or what a cheat does to the first row."""
    pairs = [
        (row["throughput"], run["throughput"] / 2) for row, run in zip(rows, runs, strict=True)
    ]
    beside = any(close(value, half, 0.01) for value, half in pairs[1:])
    at_once = "another run took its cores at the same time" if beside else "your code halved it"
    return [
        (
            3 * printed,
            (
                ": usually two runs share a process, and the second one "
                "finds what the first left behind"
            ),
        ),
        (
            5 * printed,
            ": usually another Python ran it",
        ),
        (
            printed / 2,
            f": usually {at_once}",
        ),
    ]


def summary_of(rows: Sequence[Row]) -> dict[str, Any]:
    """Return what summarize is to return."""
    base = rows[0]

    def best(column: str, sign: int) -> tuple[Row, float]:
        row = max(rows, key=lambda it: sign * it[column])
        return row, row[column] / base[column]

    quick, faster = best("throughput", 1)
    small, share = best("peak_memory_mb", -1)
    return {
        "fastest": quick["configuration"],
        "speedup": faster,
        "time_saved_s": base["epoch_time"] - quick["epoch_time"],
        "leanest": small["configuration"],
        "memory_saved_percent": 100 - 100 * share,
    }


def summary_slips(name: str, right: Any) -> list[tuple[float, str]]:
    """Return numbers that a figure of the summary is known to be mistaken for, and how."""
    if name != "memory_saved_percent":
        return []
    lean = "it is a percentage of the leanest peak, and not of the first row's"
    return [
        (right / 100, "it is a fraction, not percent"),
        (100 * right / (100 - right), lean),
    ]


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
    return fraction_problem(rows)
