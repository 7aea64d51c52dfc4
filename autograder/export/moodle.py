"""What Moodle imports, in one file: an assignment's grading worksheet, and grades by address for
its gradebook.

The worksheet needs Identifier, Grade and Last modified (grade); its numbers are those in the
folders of the download.
"""

from __future__ import annotations

from collections.abc import Sequence

from autograder import sheet
from autograder.export import in_class
from autograder.grading.scoring import worth
from autograder.handed_in.formats import MOODLE
from autograder.report.outcome_words import points
from autograder.results.standing import Standing

HEADER = (
    "Identifier",
    "Full name",
    "Email address",
    "Status",
    "Grade",
    "Maximum Grade",
    "Grade can be changed",
    "Last modified (submission)",
    "Last modified (grade)",
    "Feedback comments",
)


def table(standings: Sequence[Standing]) -> tuple[str, list[str]]:
    """The worksheet and who is left out."""
    rows, notes = in_class(
        standings,
        lambda standing: _number(standing) or standing.student.email,
        "moodle_id or email",
    )
    return sheet.text(HEADER, map(_row, rows)), notes


def _number(standing: Standing) -> str:
    """Moodle's number of a student in this assignment.

    That of the download, else the roster's.
    """
    match = MOODLE.fullmatch(standing.handed.source)
    return match["id"] if match else standing.student.moodle_id


def _row(standing: Standing) -> tuple[object, ...]:
    number = _number(standing)
    student = standing.student
    result = standing.result
    who = (
        f"Participant {number}" if number else "",
        student.name,
        student.email,
        "Submitted for grading",
    )
    return (*who, standing.final, result.max_score, "Yes", "-", "-", _comment(standing))


def _comment(standing: Standing) -> str:
    parts = [
        f"{part.title} {points(part.score)}/{points(part.max_score)}"
        for part in standing.result.parts
    ]
    owed = (
        [f"{worth(standing.result.points_owed)} still owed"] if standing.result.points_owed else []
    )
    return "; ".join([*parts, *([str(standing.late)] if standing.late else []), *owed])
