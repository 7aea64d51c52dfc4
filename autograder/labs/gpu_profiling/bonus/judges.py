"""Judges a comparison of two profiles: its rows, its verdict, the page that was written of it.

A problem is one sentence, or nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from autograder.checks import table
from autograder.checks.numerics import shown
from autograder.model import Failed, Pair, Passed, Verdict

Report = Mapping[str, Any]
NESTED = 1.5  # times as much is counted where the half of a range that lies within it counts, too
NAMES = ("before_ms", "after_ms", "change_ms")


def each(pair: Pair, problem: Callable[[Report, Report], str], why: str, try_: str) -> Verdict:
    """Pass when there is a report for each pair of profiles, and no problem with any."""
    reported, expected = pair.student.values["reports"], pair.baseline.values["reports"]
    for number, (report, right) in enumerate(zip(reported, expected, strict=True), 1):
        if wrong := problem(report, right):
            return Failed(f'case "made profiles {number}": {wrong}', why, try_)
    return Passed(f"{len(expected)} pairs of made profiles")


def row_problem(report: Report, expected: Report) -> str:
    """Say which row is not right, or that they are in another order."""
    right = {row["range"]: (row["before_ms"], row["after_ms"]) for row in expected["rows"]}
    named = sorted(str(row.get("range")) for row in report["rows"])
    if missing := sorted({*right} - {*named}):
        listed = ", ".join(f"'{name}'" for name in missing)
        return f"no row is of the range{'s' * (len(missing) > 1)} {listed}"
    if named != sorted(right):
        return f"rows are of {', '.join(named)[:200]}; right: {', '.join(sorted(right))}"
    for row in report["rows"]:
        if problem := _figure_problem(row, *right[row["range"]]):
            return problem
    changes = [abs(row["change_ms"]) for row in report["rows"]]
    if changes != sorted(changes, reverse=True):
        return f"abs(change_ms) is {', '.join(map(shown, changes))} in the rows, from the first on"
    return ""


def _figure_problem(row: Report, before: float, after: float) -> str:
    for name, expected in zip(NAMES, (before, after, after - before), strict=True):
        figure = row.get(name)
        if not _alike(figure, expected):
            twice = ": ranges count twice" if _alike(figure, NESTED * expected) else ""
            reported = f"{name} of '{row['range']}' is {shown(figure)}"
            return f"{reported}, and {expected:.4g} is right{twice}"
    return ""


def page_problem(report: Report, _: Report) -> str:
    """Say which row is not on the page as it was returned, or that no verdict is."""
    rows, page = report["rows"], report["page"]
    if not page:
        return f"profile_report.md is {'missing' if page is None else 'empty'} in folder"
    lines = [line.strip() for line in page.splitlines() if "|" in line][2:]
    if len(lines) != len(rows):
        return f"{len(lines)} rows in profile_report.md, and {len(rows)} were returned"
    for line, row in zip(lines, rows, strict=True):
        if odd := _odd_cell(line, row):
            return odd
    return _verdict_problem(re.sub(r"[*_`]", "", page.lower()), slower=report["slower"])


def _odd_cell(line: str, row: Report) -> str:
    """Say which cell of a line of the page does not hold what the row has; or nothing."""
    name, *cells = (cell.strip("` ") for cell in line.strip("|").split("|"))
    right = row["range"].strip("` ")
    if name != right or len(cells) != len(NAMES):
        figures = " | ".join(shown(row.get(it)) for it in NAMES)
        return f"the page has {line[:100]}; {row['range']} | {figures} was returned"
    for figure, cell in zip(NAMES, cells, strict=True):
        if not _written(table.number(cell), row.get(figure)):
            return f"{figure} of '{name[:60]}': the page has {cell[:40]}; the row {shown(row.get(figure))}"
    return ""


def _verdict_problem(page: str, *, slower: bool | None) -> str:
    if "slower" not in page:
        return "profile_report.md does not say whether the step is slower"
    if slower:
        if "not slower" in page:
            return f"profile_report.md says not slower, and slower is {slower}"
        return ""
    if re.search(r"\b(?:not?|none|false)\b", page):
        return ""
    return f"profile_report.md says slower, and slower is {slower}"


def _written(number: float | None, value: Any) -> bool:
    return number is not None and isinstance(value, float | int) and abs(number - value) <= 0.011


def _alike(figure: Any, expected: float) -> bool:
    if not isinstance(figure, float | int) or not math.isfinite(figure):
        return False
    return abs(figure - expected) <= 1e-3 * abs(expected) + 1e-3
