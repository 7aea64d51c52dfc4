"""The files that are handed in: the table, the dashboard and the report."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import product

from autograder.checks import configurations, report, table
from autograder.checks.rendered import Named
from autograder.lab import Failed, Passed, Table, Text, Verdict
from autograder.labs.resnet18.part6_comparison.comparison import study
from autograder.labs.resnet18.part6_comparison.part import DASHBOARD, part
from autograder.traces.words import many

study.is_consistent(
    lambda rows: configurations.row_problem(rows) or configurations.implausible(rows),
    says="The submitted optimization_results.csv has six rows of numbers that are possible and fit each other.",
)
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
RECOMMENDATIONS, WORDS = 3, 6


@part.check(basis="artefact")
def report_is_complete(optimization_report: Text) -> Verdict:
    """The report has the headings of its template, something below each, no gap to fill in, and 250 to 3000 words."""
    text = optimization_report.text
    measured, why = report.incomplete(text, HEADINGS, LEAST, MOST)
    if why:
        try_ = "keep the headings of the template, and write sentences below each: figures alone do not count"
        if "left" in measured:
            try_ = "replace what is left to fill in by your own words"
        return Failed(f"{measured}; {why}", "the report is not finished", try_)
    cuts = report.points(report.below(text, HEADINGS["Production Recommendations"]))
    count = max((sum(report.words(point) >= WORDS for point in cut) for cut in cuts), default=0)
    if count < RECOMMENDATIONS:
        measured = (
            f"{count} recommendations of {WORDS} words or more, and {RECOMMENDATIONS} are right"
        )
        why = "usually a recommendation is too short, or no item of a list"
        return Failed(measured, why, "say what to switch on, when, and why: an item for each")
    return Passed(f"{measured}, {count} recommendations")


@part.check(basis="artefact")
def report_agrees_with_csv(optimization_report: Text, optimization_results: Table) -> Verdict:
    """The report's numbers agree with optimization_results.csv; the summary has those that the handout asks for."""
    units = configurations.RESULTS.units
    figures, wrong = report.figures(optimization_report, optimization_results, units)
    if wrong:
        measured = f"{many(len(wrong), 'number')} not in the table: {report.listed(wrong)}"
        why = "usually a number is of another run"
        if "{" in wrong[0]:
            why = "a name in braces must be a row and a column of the table"
        return Failed(measured, why, BY_NAME)
    summary = report.below(optimization_report.text, HEADINGS["Executive Summary"])
    if odd := _summary_problem(summary, figures, optimization_results):
        why = "the summary must name throughput before and after, and the speedup"
        return Failed(odd, why, SUMMED_UP)
    return Passed(f"{many(len(figures), 'number')}, all of them in the table")


def _summary_problem(summary: str, figures: Sequence[Named], results: Table) -> str:
    """Say that the summary has no throughput before and after, or no speedup of a row whose throughput it has."""
    named = {place for figure in figures if figure.said in summary for place in figure.places}
    rates, speedups = (
        {row for row, other in named if other == column} for column in ("throughput", "speedup")
    )
    first, alone = next(iter(configurations.BUILDS_ON)), _first_is_fastest(results)
    least = 1 if alone else 2
    if len(rates) < least:
        names = f"the summary names the throughput of {many(len(rates), 'row')}"
        return f"{names}; expected: of {many(least, 'row')} or more"
    if not speedups:
        return "the summary names no speedup"
    after = rates - {first}
    if not after or speedups & (rates if alone else after):
        return ""
    return f"the summary names no speedup of {' or '.join(sorted(after))}"


def _first_is_fastest(results: Table) -> bool:
    """Whether no row is faster than the first, which then is before and after."""
    rates = [row.get("throughput") for row in table.as_numbers(results.rows, ["throughput"])]
    numbers = [rate for rate in rates if isinstance(rate, float)]
    return rates == numbers != [] and rates[0] == max(numbers)


BY_NAME = 'use a name of the table, {AMP.speedup}, or quote it: see "Numbers by name" in the part 6 handout'
SUMMED_UP = (
    "write the throughput before and after, and the speedup: "
    "{Baseline.throughput}, {AMP.throughput}, {AMP.speedup}"
)
EVIDENCE = {
    "data loading": r"data|load",
    "compute": r"comput|arithmetic|GPU|CPU|kernel",
    "memory": r"memory|activation",
}


ITEMS = "write one item for each, with a number by name, such as {Baseline.data_wait}"


@part.check(basis="artefact")
def bottlenecks_have_evidence(optimization_report: Text) -> Verdict:
    """Data loading, compute and memory are each discussed as bottlenecks, with a number of the table."""
    cuts = report.points(report.below(optimization_report.text, HEADINGS["Bottlenecks Identified"]))
    if any(map(_apart, cuts)):
        return Passed(f"{', '.join(EVIDENCE)}: each with a number of the table")
    most = max((sum(map(bool, map(report.names, cut))) for cut in cuts), default=0)
    why = f"{many(most, 'item')} with a number by name, and {len(EVIDENCE)} or more are right"
    if most >= len(EVIDENCE):
        why = "no three items name one of them each"
    points = [point for cut in cuts for point in cut]
    for name, pattern in EVIDENCE.items():
        if not any(report.names(points[at]) for at in _about(pattern, points)):
            why = f"no item with a number by name speaks of {name}"
            break
    return Failed(why, "data loading, compute and memory must have an item each", ITEMS)


def _apart(points: Sequence[str]) -> bool:
    """Whether each of the three has a point of its own with a figure in it."""
    named = [point for point in points if report.names(point)]
    about = [_about(pattern, named)[:3] for pattern in EVIDENCE.values()]
    return any(len({*chosen}) == len(EVIDENCE) for chosen in product(*about))


def _about(pattern: str, points: Sequence[str]) -> list[int]:
    """Return which points speak of something."""
    return [at for at, point in enumerate(points) if re.search(pattern, point, re.IGNORECASE)]
