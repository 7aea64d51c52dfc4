"""The files that are handed in: the table, the dashboard and the report."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import product
from typing import Any

from autograder.checks import configurations, report, table
from autograder.checks.configurations import FIGURES
from autograder.lab import Device, Failed, Passed, Table, Text, Unavailable, Verdict
from autograder.labs.resnet18.part6_comparison.comparison import NAMES, study
from autograder.labs.resnet18.part6_comparison.part import DASHBOARD, part
from autograder.traces.words import many

PRINTED = ("configuration", *FIGURES)


def _measured(results: Table) -> list[dict[str, Any]]:
    """Return what the runs printed, whatever was worked out from it."""
    rows = table.as_numbers(results.rows, FIGURES)
    return [{name: row.get(name) for name in PRINTED} for row in rows]


def _unread(rows: Sequence[dict[str, Any]]) -> str:
    if problem := table.form_problem(rows, PRINTED, FIGURES, NAMES):
        return problem
    measured = all(row["throughput"] > 0 and row["epoch_time"] > 0 for row in rows)
    return "" if measured else "a throughput or time is 0"


AGAIN = "run part6_comparison.py again and submit the file that it wrote, unchanged"


study.is_consistent(
    configurations.row_problem,
    says="The submitted optimization_results.csv has six rows of consistent numbers.",
)


@part.check(basis="artefact")
def csv_is_plausible(optimization_results: Table, device: Device) -> Verdict:
    """The table's figures are possible on this machine; those of another machine are for a person to judge."""
    rows = _measured(optimization_results)
    devices = [{"device": row.get("device", "")} for row in optimization_results.rows]
    name = devices[0]["device"].strip() if devices else ""
    measured = f"measured on {name[:60]}"
    if why := _unread(rows) or table.device_problem(devices) or configurations.implausible(rows):
        return Failed(f"{len(rows)} rows, {measured}", why, AGAIN)
    if device.name.startswith(name):
        return Passed(f"{len(rows)} rows, measured on this machine")
    return Unavailable(f"{measured}, and this machine is {device.name}: not comparable here")


study.is_pictured(DASHBOARD, name="dashboard_is_a_picture")


HEADINGS = {  # of the report -> what one has to hold
    "Executive Summary": r"summary",
    "Bottlenecks Identified": r"bottlenecks?",
    "DataLoader Optimization": r"data[ -]?load",
    "Mixed Precision (AMP)": r"mixed precision|\bAMP\b",
    "torch.compile": r"compile",
    "Production Recommendations": r"recommendation",
    "Lessons Learned": r"lessons?",
}
LEAST, MOST = 250, 3000  # words
SUMMARY = {"throughput": 2, "speedup": 1}  # column -> how many rows of it
RECOMMENDATIONS, WORDS = 3, 6


@part.check(basis="artefact")
def report_is_complete(optimization_report: Text) -> Verdict:
    """The report has its seven headings with something below each, nothing left to fill in, and 250 to 3000 words."""
    text = optimization_report.text
    measured, why = report.incomplete(text, HEADINGS, LEAST, MOST)
    if why:
        try_ = "keep the seven headings, and write sentences below each: figures alone do not count"
        return Failed(measured, why, try_)
    cuts = report.points(report.below(text, HEADINGS["Production Recommendations"]))
    count = max((sum(report.words(point) >= WORDS for point in cut) for cut in cuts), default=0)
    if count < RECOMMENDATIONS:
        why = f"fewer than {RECOMMENDATIONS} recommendations have {WORDS} words or more"
        return Failed(f"{count} recommendations", why, "say what to switch on, when, and why")
    return Passed(f"{measured}, {count} recommendations")


@part.check(basis="artefact")
def report_agrees_with_csv(optimization_report: Text, optimization_results: Table) -> Verdict:
    """Each figure of the report is in optimization_results.csv; the summary has before and after."""
    units = configurations.RESULTS.units
    figures, wrong = report.figures(optimization_report, optimization_results, units)
    if wrong:
        measured = f"{many(len(wrong), 'figure')} not in the table"
        return Failed(measured, report.listed(wrong), BY_NAME)
    summary = report.below(optimization_report.text, HEADINGS["Executive Summary"])
    named = {(figure.said, *place) for figure in figures for place in figure.places}
    alone = _first_is_fastest(_measured(optimization_results))
    for column, least in SUMMARY.items():
        counts = {(text, row): summary.count(text) for text, row, other in named if other == column}
        rows = {row for (_, row), times in counts.items() if times}
        count = sum(counts.values()) if alone else len(rows)
        if count < least:
            names = f"the summary names the {column} of {many(count, 'row')}"
            why = f"{names}, but at least {least} are needed"
            return Failed(f"{len(figures)} figures of the table", why, SUMMED_UP)
    return Passed(f"{len(figures)} figures, all of them of the table")


def _first_is_fastest(rows: Sequence[dict[str, Any]]) -> bool:
    """Whether no row is faster than the first, which then is before and after."""
    return not _unread(rows) and rows[0]["throughput"] == max(row["throughput"] for row in rows)


BY_NAME = (
    'write it by its name, {AMP.speedup}, or quote it: see "Figures by name" in the part 6 handout'
)
SUMMED_UP = (
    "write the throughput before and after, and the speedup: "
    "{Baseline.throughput}, {AMP.throughput}, {AMP.speedup}"
)
EVIDENCE = {
    "data loading": r"data|load",
    "compute": r"comput|arithmetic|GPU|CPU|kernel",
    "memory": r"memory|activation",
}


@part.check(basis="artefact")
def bottlenecks_have_evidence(optimization_report: Text) -> Verdict:
    """Data loading, compute and memory are each discussed as bottlenecks, with a figure of the table."""
    cuts = report.points(report.below(optimization_report.text, HEADINGS["Bottlenecks Identified"]))
    if any(_apart(cut) for cut in cuts):
        return Passed(f"{', '.join(EVIDENCE)}: each with a figure")
    for name, pattern in EVIDENCE.items():
        about = [point for cut in cuts for point in cut if _about(pattern, point)]
        if not any(map(report.names, about)):
            why = f"{name} is {'named without a figure' if about else 'not named'}"
            measured = f"{max(map(len, cuts), default=0)} points"
            return Failed(measured, why, POINTS)
    return Failed("fewer than three points with a figure", "one point stands for two", POINTS)


POINTS = "write one point for each, with a figure of the table such as {Baseline.data_wait}"


def _apart(points: Sequence[str]) -> bool:
    """Whether each of the three has a point of its own with a figure in it."""
    named = [(at, point) for at, point in enumerate(points) if report.names(point)]
    about = [
        [at for at, point in named if _about(pattern, point)][:3] for pattern in EVIDENCE.values()
    ]
    return any(len({*chosen}) == len(EVIDENCE) for chosen in product(*about))


def _about(pattern: str, point: str) -> bool:
    return re.search(pattern, point, re.IGNORECASE) is not None
