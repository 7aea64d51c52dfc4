"""Verdicts -> points -> sums. Pure functions; every figure is kept in whole hundredths of a point.

score + lost + owed = max_score holds exactly: sums are rounded to hundredths once, so steps of 0.1 do not drift.
Points of bonus parts fill up what other parts lost, and no more: nobody needs them, and nobody gets over the maximum.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from autograder.config import CheckConfig
from autograder.model import (
    OWED,
    CheckResult,
    Final,
    Inconclusive,
    Outcome,
    Owed,
    Partial,
    PartResult,
    Passed,
    Result,
    Unavailable,
    without_bonus,
)

OUTCOMES: Mapping[Outcome, str] = {
    "passed": "passed",
    "partial": "partly",
    "failed": "failed",
    "skipped": "skipped",
    "unavailable": "owed",
    "inconclusive": "owed",
    "error": "our fault",
    "unread": "owed",
}
"""What people read in place of an outcome."""


class Totals(NamedTuple):
    """The sums of a Result, under the names that it gives them."""

    score: float
    max_score: float
    owed: tuple[Owed, ...]


def points_for(verdict: Final, max_points: float) -> tuple[Outcome, float]:
    """Return what a verdict is called and what it earns."""
    match verdict:
        case Passed():
            return "passed", max_points
        case Partial(credit=credit):
            return _partly(_tenths(credit), max_points)
        case Unavailable():
            return "unavailable", 0.0
        case Inconclusive():
            return "inconclusive", 0.0
        case _:
            return "failed", 0.0


def _partly(credit: float, max_points: float) -> tuple[Outcome, float]:
    outcome: Outcome = "passed" if credit == 1 else "partial" if credit else "failed"
    return outcome, _sum([credit * max_points])


def _tenths(credit: float) -> float:
    """Round down to tenths within 0 to 1: partial credit pays only what is proved."""
    if math.isnan(credit):
        # The check's own fault, so not the student's zero.
        raise ValueError("a check gave a credit that is not a number")
    # 1 - 0.7 is 0.30000000000000004 and 1 - 0.9 is 0.09999999999999998: both mean what they look like.
    return math.floor(round(min(max(credit, 0.0), 1.0) * 10, 9)) / 10


def part_result(
    id: str,  # noqa: A002 as the record calls it
    title: str,
    checks: Sequence[CheckResult],
    *,
    bonus: bool = False,
) -> PartResult:
    """Put a part together from its checks, rubric items included."""
    score = _sum(check.points for check in checks)
    max_score = _sum(check.max_points for check in checks)
    return PartResult(id, title, score, max_score, tuple(checks), bonus)


def repriced(checks: Sequence[CheckResult], config: Mapping[str, CheckConfig]) -> list[CheckResult]:
    """Pay verdicts by what their checks are worth now; a part of no points says nothing of other points."""
    return [
        _repriced(check, config[check.id].points)
        for check in checks
        if check.outcome != "partial" or check.max_points
    ]


def _repriced(check: CheckResult, worth: float) -> CheckResult:
    return replace(check, points=_paid(check, worth), max_points=worth)


def _paid(check: CheckResult, worth: float) -> float:
    if check.outcome == "partial":
        return _sum([round(check.points / check.max_points, 1) * worth])
    return worth if check.outcome == "passed" else 0.0


def left_to_a_person(result: Result) -> Result:
    """Have a person settle what was to be judged again."""
    owed = tuple(
        replace(item, settled_by="person") if item.settled_by == "again" else item
        for item in result.owed
    )
    return replace(result, owed=owed)


def owed(parts: Sequence[PartResult]) -> tuple[Owed, ...]:
    """List the points that wait for a machine or a person."""
    return tuple(
        Owed(
            f"{part.id}.{check.id}",
            check.owed,
            "person" if check.basis == "person" else OWED[check.outcome],
        )
        for part in parts
        for check in part.checks
        if check.outcome in OWED
    )


def totals(parts: Sequence[PartResult]) -> Totals:
    """Add the parts up; what bonus parts won counts as far as other parts lost; what they are owed waits for nobody."""
    usual = without_bonus(parts)
    waiting = owed(usual)
    won = _sum(part.score for part in usual)
    most = _sum(part.max_score for part in usual)
    lost = _sum([most, -won, *(-item.points for item in waiting)])
    bonus = _sum(part.score for part in parts if part not in usual)
    return Totals(_sum([won, min(bonus, lost)]), most, waiting)


def worth(points: float) -> str:
    """Return points with their unit.

    >>> worth(1.0), worth(0.5), worth(6.0)
    ('1 point', '0.5 points', '6 points')
    """
    return f"{figure(points)} point{'' if points == 1 else 's'}"


def figure(points: float) -> str:
    """Show points without a trailing .0.

    >>> figure(6.0), figure(0.5), figure(-0.001)
    ('6', '0.5', '0')
    """
    return f"{round(points, 2) + 0.0:.10g}"


def _sum(points: Iterable[float]) -> float:
    return round(math.fsum(points), 2)
