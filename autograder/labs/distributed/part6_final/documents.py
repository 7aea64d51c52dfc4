"""Judges what is handed in beside the table: two traces, an analysis and recommendations with figures of the table.

Each says what was measured, and what is wrong; nothing is where that is empty.
"""

from __future__ import annotations

import re

from autograder.checks import rendered, report
from autograder.labs.distributed.part6_final.configurations import RESULTS
from autograder.model import Table, Text
from autograder.traces import Trace

Finding = tuple[str, str]
"""What was measured, and what is wrong with it."""

COLLECTIVE = re.compile(r"(?:gloo|nccl):")
STEPS = 3


def profiled(before: Trace, after: Trace) -> Finding:
    """Compare the collectives of a step in both traces."""
    calls = []
    for trace in (before, after):
        group = trace.signals.get("rank", "unknown")
        if not re.fullmatch(r"0 of ([2-9]|\d\d+)", group):
            return (
                f"{trace.file} is of rank {group}",
                "expected rank 0 of two or more processes",
            )
        if trace.step_count < STEPS:
            return f"{trace.file} holds {trace.step_count} steps", f"expected {STEPS} or more"
        ranges = [row.count for row in trace.rows("ranges") if COLLECTIVE.match(row.name)]
        if not ranges:
            return f"{trace.file} holds no collective", "nothing was sent in these steps"
        calls.append(sum(ranges) / trace.step_count)
    measured = f"{calls[0]:.3g} collectives in a step before, {calls[1]:.3g} after"
    why = "the traces are swapped, or each batch of a step communicates"
    return measured, "" if calls[1] < calls[0] else why


HEADINGS = {
    "What limits the baseline": r"limit|baseline",
    "What each optimization is worth": r"each|optimi[sz]ation",
    "What all of them are worth": r"\ball\b|together",
    "Communication": r"communicat",
    "More processes": r"more processes|scal",
    "What the figures do not show": r"not show",
}
LEAST, MOST = 800, 1300  # words
FIGURES, ROWS = 6, 4  # that are named at least
MEASURES = 3


def analysed(analysis: Text, results: Table) -> Finding:
    """Look whether an analysis is whole, and names figures of the table."""
    measured, why = report.incomplete(analysis.text, HEADINGS, LEAST, MOST)
    if why:
        return measured, why
    named, wrong = report.figures(analysis, results, RESULTS.units)
    if wrong:
        return f"{len(wrong)} figures that the table does not have", report.listed(wrong)
    rows = {row for figure in named for row, _ in figure.places}
    measured = f"{measured}, {len(named)} figures of {len(rows)} rows by their names"
    few = len(named) < FIGURES or len(rows) < ROWS
    return measured, f"at least {FIGURES} of {ROWS} rows are needed" * few


def recommended(recommendations: Text, results: Table) -> Finding:
    """Look whether each of three measures names a figure of the table."""
    if left := report.left_over(recommendations.text):
        return f"{len(left)} places left to fill in", report.listed(left)
    named, wrong = report.figures(recommendations, results, RESULTS.units)
    if wrong:
        return f"{len(wrong)} figures that the table does not have", report.listed(wrong)
    cuts = report.points(recommendations.text)
    count = max((sum(map(_has_figure, cut)) for cut in cuts), default=0)
    measured = f"{count} measures with a figure, {len(named)} figures in all"
    return measured, f"{MEASURES} measures are needed, each with a figure" * (count < MEASURES)


def _has_figure(point: str) -> bool:
    return rendered.BRACES.search(point) is not None
