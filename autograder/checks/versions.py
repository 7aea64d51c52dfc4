"""Judges a table of versions of one training that do the same work, each with one optimization more than the last.

A row has the version, how busy it kept the device, the figures of its run, speedup and device. Each judge says what is
wrong in one sentence, or nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from autograder.checks import report, table
from autograder.checks.numerics import close, explained, shown
from autograder.model import Table, Text

VERSIONS = ("Baseline", "DataLoader", "Model", "Memory", "Final")
FIGURES = ("throughput", "seconds", "data_wait", "warm_up_s", "samples", "steps", "batch_size", "loss")
COLUMNS = ("version", "busy_percent", *FIGURES, "speedup", "device")
NUMBERS = COLUMNS[1:-1]
SAME = 0.03  # relative: numbers of samples that follow from rounded figures
ROUNDED = 0.011  # seconds: two figures of two decimals
WORSE = 0.25  # of the first row's loss, and this much at least: shuffled anew, in 16 bits
NOT_LEARNT = 2.0  # the loss of 10 classes that are guessed is ln(10) = 2.3
LEAST, MOST, FIGURES_NAMED = 150, 2000, 4  # of a reflection: words; figures
UNITS = {  # of the columns that a reflection types figures of
    "throughput": "samples/s",
    "seconds": "s",
    "data_wait": "s",
    "warm_up_s": "s",
    "busy_percent": "%",
    "speedup": "x",
}

Row = Mapping[str, Any]


def row_problem(rows: Sequence[Row], names: Sequence[str] = VERSIONS) -> str:
    """Say what is wrong with the form of the rows, or how they contradict each other."""
    form = table.form_problem(rows, COLUMNS, NUMBERS, names)
    if form:
        return form
    odd = next((words for row in rows if (words := _odd(row))), "")
    return odd or table.device_problem(rows) or next((words for row in rows if (words := _unlike(row, rows[0]))), "")


def _odd(row: Row) -> str:
    name = row["version"]
    low = [it for it in ("throughput", "seconds", "samples", "steps", "batch_size", "loss") if not row[it] > 0]
    if low:
        return f"{low[0]} of {name} is not above 0"
    if not 0 <= row["busy_percent"] <= 100:
        return f"busy_percent of {name} is {row['busy_percent']:.4g}, and a share in percent is asked for"
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
    return f"the loss of {worse['version']} is {worse['loss']:.4g}, and {first:.4g} in the first row"


def compared_problem(rows: Sequence[Row], runs: Sequence[Row]) -> str:
    """Say how rows are not those of made runs, or contradict each other."""
    names = tuple(run["version"] for run in runs)
    form = table.form_problem(rows, COLUMNS, NUMBERS, names)
    return form or copied_problem(rows, {run["version"]: run for run in runs}) or row_problem(rows, names)


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
        (printed / 2, ": another run took its cores at the same time; start one when the last has ended"),
    ]
    return explained(told, stories, 0.01)


def reflected(reflection: Text, table: Table, headings: Mapping[str, str]) -> tuple[str, str]:
    """Look whether a reflection is whole, and its figures are the table's: what was measured, and what is wrong."""
    words = report.words(reflection.text)
    if wrong := report.gaps(reflection.text, headings) or report.left_over(reflection.text):
        return f"{words} words", report.listed(wrong)
    if not LEAST <= words <= MOST:
        return f"{words} words", f"it has to have {LEAST} to {MOST}, without tables and code"
    named, wrong = report.figures(reflection, table, UNITS)
    if wrong:
        return f"{len(wrong)} figures that are not in the table", report.listed(wrong)
    short = f"it names too few figures: {FIGURES_NAMED} or more of the table are needed"
    return f"{words} words, {len(named)} figures of the table", "" if len(named) >= FIGURES_NAMED else short
