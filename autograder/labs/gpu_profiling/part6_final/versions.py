"""Judges versions that do the same work, each with one optimization more than the last; and a reflection on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from autograder.checks import report
from autograder.checks.configurations import SAME, copied_problem
from autograder.checks.numerics import close
from autograder.checks.table_form import (
    DEVICE,
    Form,
    Row,
    any_number,
    count,
    not_negative,
    percent,
    positive,
    ratio,
    words,
)
from autograder.model import Table, Text
from autograder.traces.words import many

__all__ = [
    "PRINTED",
    "VERSIONS",
    "copied_problem",
    "learning_problem",
    "reflected",
    "work_problem",
]

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
            "share of the steps' time in which a kernel ran; without "
            "a GPU, an operator outside the loader",
        ),
        positive("throughput", "of all timed epochs", "samples/s"),
        positive("seconds", "of all timed epochs", "s"),
        any_number("data_wait", "of them spent waiting for the loader", "s"),
        not_negative("warm_up_s", "before the first timed epoch", "s"),
        count("samples", "trained on in all timed epochs; alike in all rows"),
        count("steps", "of the optimizer in all timed epochs; alike in all rows"),
        count("batch_size", "samples at once"),
        positive(
            "loss",
            "mean of the last epoch; above the first row's by at most 25 % or 0.25, whichever is more",
        ),
        ratio("speedup", "throughput", "first throughput"),
        DEVICE,
    ),
    rows=("Baseline", "DataLoader", "Model", "Memory", "Final"),
    waits_in="seconds",
)
START = 30.0  # scripted seconds of a loader that is gone through for the first time
WORSE = 0.25  # of the first row's loss, and this much at least: shuffled anew, in 16 bits
NOT_LEARNT = 2.0  # the loss of 10 classes that are guessed is ln(10) = 2.3
LEAST, MOST, FIGURES_NAMED = 150, 2000, 4  # of a reflection: words; figures


def work_problem(rows: Sequence[Row]) -> str:
    """Say how versions did other work than the first one, or trained on other samples than they say."""
    for row in rows:
        name, samples = row["version"], row["throughput"] * row["seconds"]
        if not close(samples, row["samples"], SAME):
            measured = f"throughput x seconds of {name} is {samples:.4g} samples"
            return f"{measured}, and {row['samples']:.4g} were trained on"
        for column in ("samples", "steps"):
            if row[column] != rows[0][column]:
                measured = f"{column} of {name} are {row[column]:.6g}, and {rows[0][column]:.6g} in the first row"
                return f"{measured}: that is different work"
    return ""


def learning_problem(rows: Sequence[Row]) -> str:
    """Say which version does not learn as the first one does: fast, and another training."""
    first = rows[0]["loss"]
    if first > NOT_LEARNT:
        return f"the loss of {rows[0]['version']} is {first:.4g}: nothing was learnt"
    most = first + max(WORSE * first, WORSE)
    worse = next((row for row in rows if row["loss"] > most), None)
    if worse is None:
        return ""
    return (
        f"the loss of {worse['version']} is {worse['loss']:.4g}, and {first:.4g} in the first row"
    )


def reflected(reflection: Text, table: Table, headings: Mapping[str, str]) -> tuple[str, str]:
    """Look whether a reflection is whole, and its figures are the table's: what was measured, and what is wrong."""
    written = report.words(reflection.text)
    if wrong := report.gaps(reflection.text, headings) or report.left_over(reflection.text):
        return f"{written} words", report.listed(wrong)
    if not LEAST <= written <= MOST:
        return f"{written} words", f"{LEAST} to {MOST} are needed, without tables and code blocks"
    named, wrong = report.figures(reflection, table, VERSIONS.units)
    if wrong:
        return f"{many(len(wrong), 'number')} not in the table", report.listed(wrong)
    measured = f"{written} words, {len(named)} numbers of the table"
    short = f"the reflection has too few numbers: {FIGURES_NAMED} of the table are needed"
    return measured, short if len(named) < FIGURES_NAMED else ""
