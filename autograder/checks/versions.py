"""Judges a table of versions of one training that do the same work, each with one optimization more than the last.

A row has the version, how busy it kept the device, the figures of its run, speedup and device. Each judge says what is
wrong in one sentence, or nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from autograder.checks import report, table
from autograder.checks.forms import (
    DEVICE,
    Form,
    any_number,
    count,
    not_negative,
    percent,
    positive,
    words,
)
from autograder.checks.numerics import close, explained, shown
from autograder.model import Table, Text

VERSIONS = ("Baseline", "DataLoader", "Model", "Memory", "Final")
FIGURES = (
    "throughput",
    "seconds",
    "data_wait",
    "warm_up_s",
    "samples",
    "steps",
    "batch_size",
    "loss",
)
RESULTS = Form(
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
        positive("speedup", "throughput / that of the first row", "x"),
        DEVICE,
    ),
    rows=VERSIONS,
)
SAME = 0.03  # relative: numbers of samples that follow from rounded figures
ROUNDED = 0.011  # seconds: two figures of two decimals
WORSE = 0.25  # of the first row's loss, and this much at least: shuffled anew, in 16 bits
NOT_LEARNT = 2.0  # the loss of 10 classes that are guessed is ln(10) = 2.3
LEAST, MOST, FIGURES_NAMED = 150, 2000, 4  # of a reflection: words; figures
Row = Mapping[str, Any]


def row_problem(rows: Sequence[Row], names: Sequence[str] = VERSIONS) -> str:
    """Say what is wrong with the form of the rows, or how they contradict each other."""
    odd = RESULTS.problem(rows, names) or next((why for row in rows if (why := _odd(row))), "")
    return odd or next((why for row in rows if (why := _unlike(row, rows[0]))), "")


def _odd(row: Row) -> str:
    name = row["version"]
    if not -ROUNDED <= row["data_wait"] <= row["seconds"] + ROUNDED:
        return f"data_wait of {name} is {row['data_wait']:.4g} s of {row['seconds']:.4g} s"
    if not close(row["throughput"] * row["seconds"], row["samples"], SAME):
        told = f"throughput x seconds of {name} is {row['throughput'] * row['seconds']:.4g} samples"
        return f"{told}, and {row['samples']:.4g} were trained on"
    return ""


def _unlike(row: Row, first: Row) -> str:
    name = row["version"]
    for column in ("samples", "steps"):
        if row[column] != first[column]:
            told = f"{column} of {name} are {row[column]:.6g}, and {first[column]:.6g} in the first row"
            return f"{told}: that is other work, and no speedup"
    ratio = row["throughput"] / first["throughput"]
    if not table.alike(row["speedup"], ratio):
        told = f"speedup of {name} is {row['speedup']:.4g}"
        return f"{told}, but its throughput / that of {first['version']} is {ratio:.4g}"
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


def compared_problem(rows: Sequence[Row], runs: Sequence[Row]) -> str:
    """Say how rows are not those of made runs, or contradict each other."""
    names = tuple(run["version"] for run in runs)
    return (
        RESULTS.problem(rows, names)
        or copied_problem(rows, {run["version"]: run for run in runs})
        or row_problem(rows, names)
    )


def copied_problem(rows: Sequence[Row], runs: Mapping[str, Row]) -> str:
    """Say which figure of a row is not the one that its run printed, or that its profile shows."""
    for row in rows:
        printed = runs[row["version"]]
        for name in (*FIGURES, "busy_percent"):
            if not table.alike(row[name], printed[name]):
                whose = "its profile shows" if name == "busy_percent" else "its run printed"
                told = f"{name} of {row['version']} is {row[name]:.4g}, and {whose} {shown(printed[name])}"
                return told + (_leak(row[name], printed[name]) if name == "throughput" else "")
        if row["device"].strip() != printed["device"]:
            return f"the device is called {row['device'][:60]!r}, and the run printed {printed['device']!r}"
    return ""


def _leak(told: float, printed: float) -> str:
    stories = [
        (3 * printed, ": it ran in the process of an earlier run; start one for each"),
        (
            printed / 2,
            ": another run took its cores at the same time; start one when the last has ended",
        ),
    ]
    return explained(told, stories, 0.01)


def reflected(reflection: Text, table: Table, headings: Mapping[str, str]) -> tuple[str, str]:
    """Look whether a reflection is whole, and its figures are the table's: what was measured, and what is wrong."""
    words, why = report.incomplete(reflection.text, headings, LEAST, MOST)
    if why:
        return words, why
    named, wrong = report.figures(reflection, table, RESULTS.units)
    if wrong:
        return f"{len(wrong)} figures that are not in the table", report.listed(wrong)
    short = f"it names too few figures: {FIGURES_NAMED} or more of the table are needed"
    return f"{words}, {len(named)} figures of the table", "" if len(
        named
    ) >= FIGURES_NAMED else short
