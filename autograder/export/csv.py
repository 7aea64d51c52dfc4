"""A table for people and spreadsheets.

Every sum, lateness on its own, the parts, and what was set by hand.
"""

from __future__ import annotations

from collections.abc import Sequence

from autograder import sheet
from autograder.results.overrides import by_hand, corrected
from autograder.results.standing import Standing

HEADER = (
    "student",
    "name",
    "email",
    "submission",
    "score",
    "late",
    "late_points",
    "final",
    "owed",
    "lost",
    "max_score",
)


def table(standings: Sequence[Standing]) -> str:
    """One line a result."""
    parts = list(dict.fromkeys(part.id for standing in standings for part in standing.result.parts))
    return sheet.text(
        [*HEADER, *parts, "set_by_hand"], (_row(standing, parts) for standing in standings)
    )


def _row(standing: Standing, parts: Sequence[str]) -> list[object]:
    result = standing.result
    student = standing.student
    late = standing.late
    scores = {part.id: part.score for part in result.parts}
    reasons = [
        f"{name}: {by_hand(check)}" for name, check in result.checks.items() if corrected(check)
    ]
    return [
        *(student.student, student.name, student.email, result.submission, result.score),
        *(standing.unclear or late or "", late.points if late else 0, standing.final),
        *(result.points_owed, result.lost, result.max_score),
        *(scores.get(part, "") for part in parts),
        "; ".join(reasons),
    ]
