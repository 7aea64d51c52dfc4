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


def each(pair: Pair, problem: Callable[[Report, Report], str], try_: str) -> Verdict:
    """Pass when there is a report for each pair of profiles, and no problem with any."""
    told, known = pair.student.values["reports"], pair.baseline.values["reports"]
    for number, (one, right) in enumerate(zip(told, known, strict=True), 1):
        if why := problem(one, right):
            return Failed(f"made profiles {number}: {_listed(one)}", why, try_)
    return Passed(f"{len(known)} pairs of made profiles")


def row_problem(told: Report, known: Report) -> str:
    """Say which row is not right, or that they are in another order."""
    right = {row["range"]: (row["before_ms"], row["after_ms"]) for row in known["rows"]}
    if sorted(str(row.get("range")) for row in told["rows"]) != sorted(right):
        return f"the ranges of both profiles, each once, are {', '.join(sorted(right))}"
    for row in told["rows"]:
        before, after = right[row["range"]]
        for name, want in zip(NAMES, (before, after, after - before), strict=True):
            if not _alike(row.get(name), want):
                twice = ": a range within one of its own name counts once" * _alike(
                    row.get(name), NESTED * want
                )
                return f"{name} of '{row['range']}' is {shown(row.get(name))}, and it is {want:.4g} per step{twice}"
    changes = [abs(row["change_ms"]) for row in told["rows"]]
    return (
        ""
        if changes == sorted(changes, reverse=True)
        else "the largest change, up or down, comes first"
    )


def page_problem(told: Report, _: Report) -> str:
    """Say which row is not on the page as it was returned, or that no verdict is."""
    lines = [line.strip() for line in told["page"].splitlines() if "|" in line][2:]
    if len(lines) != len(told["rows"]):
        return f"{len(lines)} rows in profile_report.md, and {len(told['rows'])} were returned"
    for line, row in zip(lines, told["rows"], strict=True):
        name, *cells = (cell.strip("` ") for cell in line.strip("|").split("|"))
        numbers = [table.number(cell) for cell in cells]
        if (
            name != row["range"].strip("` ")
            or len(numbers) != len(NAMES)
            or not all(map(_written, numbers, map(row.get, NAMES)))
        ):
            return (
                f"profile_report.md has {line[:100]}, and that is not the row of '{row['range']}'"
            )
    said = re.sub(r"[*_`]", "", told["page"].lower())
    if "slower" not in said:
        return "profile_report.md does not say: slower, or not slower"
    wrong = (
        "not slower" in said if told["slower"] else not re.search(r"\b(?:not?|none|false)\b", said)
    )
    return (
        f"profile_report.md says {'not ' * told['slower']}slower, and slower is {told['slower']}"
        if wrong
        else ""
    )


def _written(number: float | None, value: Any) -> bool:
    return number is not None and isinstance(value, float | int) and abs(number - value) <= 0.011


def _alike(told: Any, want: float) -> bool:
    return (
        isinstance(told, float | int)
        and math.isfinite(told)
        and abs(told - want) <= 1e-3 * abs(want) + 1e-3
    )


def _listed(told: Report) -> str:
    rows = (
        f"{str(row.get('range'))[:30]} {shown(row.get('change_ms'))}" for row in told["rows"][:4]
    )
    return "; ".join(rows) or "no rows"
