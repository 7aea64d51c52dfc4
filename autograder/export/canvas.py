"""What Canvas's gradebook imports (Grades, Import): the columns of its own export, students by
their numbers there.

Only by number: without one Canvas falls back to names, and would take the wrong one of two.
"""

from __future__ import annotations

from collections.abc import Sequence

from autograder import sheet
from autograder.errors import UserError
from autograder.export import in_class
from autograder.results.standing import Standing

HEADER = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")


def table(standings: Sequence[Standing], assignment: str) -> tuple[str, list[str]]:
    """The table and who is left out.

    *assignment* as Canvas heads its column, like `Lab 3 (4410)`.
    """
    rows, notes = in_class(standings, lambda standing: standing.student.canvas_id, "canvas_id")
    worth = {standing.result.max_score for standing in rows}
    if len(worth) > 1:
        raise UserError(
            f"results are of {' and '.join(f'{points:g}' for points in sorted(worth))} points; "
            "export one lab, and grade again what was graded "
            "with other parts or another version of it"
        )
    lines = [
        (
            standing.student.name or standing.student.student,
            standing.student.canvas_id,
            "",
            "",
            "",
            standing.final,
        )
        for standing in rows
    ]
    possible = [("    Points Possible", "", "", "", "", *worth)] if worth else []
    return sheet.text([*HEADER, assignment], [*possible, *lines]), notes
