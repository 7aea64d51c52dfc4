"""Judges runs of a training program on a scripted clock, and tables that compare them; says what follows from these.

One table is of configurations, each with the one that it builds on; one of versions that do the same work, each with
one optimization more than the last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autograder.checks import report, slips, table
from autograder.checks.forms import (
    DEVICE,
    Column,
    Form,
    Row,
    Slip,
    any_number,
    count,
    not_negative,
    percent,
    positive,
    ratio,
    samples_problem,
    words,
)
from autograder.checks.numerics import close, explained, shown
from autograder.model import Table, Text
from autograder.traces.words import many

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
        ratio("speedup", "throughput", "first throughput"),
        positive("gain", "throughput / that of the row it builds on; 1 for Baseline", "x"),
        DEVICE,
    ),
    rows=tuple(BUILDS_ON),
    waits_in="epoch_time",
)
PRINTED = (
    "throughput",
    "seconds",
    "data_wait",
    "warm_up_s",
    "samples",
    "steps",
    "batch_size",
    "loss",
    "busy_percent",
)
VERSIONS = Form(
    "final_results.csv",
    (
        words("version", "five rows, in their order"),
        percent(
            "busy_percent",
            "share of the steps in which a kernel ran; without a GPU, an operator outside the loader",
        ),
        positive("throughput", "of all timed epochs", "samples/s"),
        positive("seconds", "of all timed epochs", "s"),
        any_number("data_wait", "of them spent waiting for the loader", "s"),
        not_negative("warm_up_s", "before the first timed epoch", "s"),
        count("samples", "trained on in all timed epochs; alike in all rows"),
        count("steps", "of the optimizer in all timed epochs; alike in all rows"),
        count("batch_size", "samples at once"),
        positive("loss", "mean of the last epoch; at most 25 % (or 0.25) above the first row's"),
        ratio("speedup", "throughput", "first throughput"),
        DEVICE,
    ),
    rows=("Baseline", "DataLoader", "Model", "Memory", "Final"),
    waits_in="seconds",
)
PACE, WHOLE = 0.01, slips.WHOLE  # relative: of throughput, of which a stem is 2 %; of seconds
SAME = 0.03  # relative: numbers of samples that follow from rounded figures
WORSE = 0.25  # of the first row's loss, and this much at least: shuffled anew, in 16 bits
NOT_LEARNT = 2.0  # the loss of 10 classes that are guessed is ln(10) = 2.3
LEAST, MOST, FIGURES_NAMED = 150, 2000, 4  # of a reflection: words; figures


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
        whole = "divide the samples of all by the seconds of all"
        return [
            *super().slips(),
            (2 * self.rate, "it counts the samples of all epochs, and the seconds of one"),
            (self.rate / 2, "it counts the samples of one epoch, and the seconds of two"),
            *((rate, f"it is the rate of one epoch: {whole}") for rate in rates),
            (sum(rates) / 2, f"it is the mean of the epochs' rates: {whole}"),
        ]


def pace_problem(told: Row, script: Script) -> str:
    """Say how throughput, epoch_time or data_wait of a run are not what passed, in the mean of its epochs."""
    once = "it includes what happens once: warm up before, in the same modes"
    otherwise = once if holds_once(told["throughput"], script) else ""
    return slips.time_problem(RESULTS, told, script, script.slips(), PACE, otherwise)


def holds_once(rate: Any, script: Script) -> bool:
    """Whether a throughput is so low that a slow first pass, or a build, is among its seconds."""
    return isinstance(rate, float) and rate < script.samples / (script.seconds + script.once / 10)


def row_problem(rows: Sequence[Row], builds_on: Mapping[str, str] = BUILDS_ON) -> str:
    """Say how configurations contradict each other, or what they build on."""
    for row in rows:
        asked, name = builds_on[row["configuration"]], row["configuration"]
        if (row["builds_on"] or "") != asked:
            return f"builds_on of {name} is {row['builds_on']!r}, and it builds on {asked!r}"
    return samples_problem(rows, SAME, rounded=0.0) or _gain_problem(rows)


def _gain_problem(rows: Sequence[Row]) -> str:
    rates = {row["configuration"]: row["throughput"] for row in rows}
    for row in rows:
        base = row["builds_on"] or row["configuration"]
        expected = row["throughput"] / rates.get(base, row["throughput"])
        if not table.alike(row["gain"], expected):
            told = f"gain of {row['configuration']} is {row['gain']:.4g}"
            return f"{told}, but its throughput / that of {base} is {expected:.4g}"
    return ""


def work_problem(rows: Sequence[Row]) -> str:
    """Say how versions did other work than the first one, or trained on other samples than they say."""
    for row in rows:
        name, samples = row["version"], row["throughput"] * row["seconds"]
        if not close(samples, row["samples"], SAME):
            told = f"throughput x seconds of {name} is {samples:.4g} samples"
            return f"{told}, and {row['samples']:.4g} were trained on"
        for column in ("samples", "steps"):
            if row[column] != rows[0][column]:
                told = f"{column} of {name} are {row[column]:.6g}, and {rows[0][column]:.6g} in the first row"
                return f"{told}: that is other work, and no speedup"
    return ""


def copied_problem(
    form: Form, figures: Sequence[str], rows: Sequence[Row], runs: Sequence[Row]
) -> str:
    """Say which figure of a row is not the one that its run printed, or that its profile shows."""
    for row, printed in zip(rows, runs, strict=True):
        for name in figures:
            if not table.alike(row[name], printed[name]):
                whose = "its profile shows" if name == "busy_percent" else "its run printed"
                told = f"{name} of {form.name(row)} is {row[name]:.4g}, and {whose} {shown(printed[name])}"
                leaks = _leaks(printed[name]) if name == "throughput" else []
                return told + explained(row[name], leaks, 0.01)
    return table.other_device(rows, runs[0]["device"])


def _leaks(printed: float) -> list[Slip]:
    """Return what a made program prints that notices how it was started."""
    return [
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


def summary_slips(name: str, right: Any) -> list[tuple[float, str]]:
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


def learning_problem(rows: Sequence[Row]) -> str:
    """Say which version does not learn as the first one does: fast, and another training."""
    first = rows[0]["loss"]
    if first > NOT_LEARNT:
        return f"the loss of {rows[0]['version']} is {first:.4g}: nothing was learnt that others could be compared with"
    most = first + max(WORSE * first, WORSE)
    worse = next((row for row in rows if row["loss"] > most), None)
    if worse is None:
        return ""
    return (
        f"the loss of {worse['version']} is {worse['loss']:.4g}, and {first:.4g} in the first row"
    )


def reflected(reflection: Text, table: Table, headings: Mapping[str, str]) -> tuple[str, str]:
    """Look whether a reflection is whole, and its figures are the table's: what was measured, and what is wrong."""
    words = report.words(reflection.text)
    if wrong := report.gaps(reflection.text, headings) or report.left_over(reflection.text):
        return f"{words} words", report.listed(wrong)
    if not LEAST <= words <= MOST:
        return f"{words} words", f"it has to have {LEAST} to {MOST}, without tables and code"
    named, wrong = report.figures(reflection, table, VERSIONS.units)
    if wrong:
        return f"{many(len(wrong), 'figure')} not in the table", report.listed(wrong)
    short = f"it names too few figures: {FIGURES_NAMED} or more of the table are needed"
    return f"{words} words, {len(named)} figures of the table", "" if len(
        named
    ) >= FIGURES_NAMED else short
