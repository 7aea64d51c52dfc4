"""The points of a run as a small table: what `pytest -k part3` ends with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autograder.grading.scoring import OUTCOMES
from autograder.model import OWED
from autograder.report.outcome_words import points

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from autograder.model import PartResult

STYLES = {**dict.fromkeys(OWED, "cyan"), "passed": "green", "failed": "red", "error": "magenta"}


def points_table(parts: Sequence[PartResult]) -> Table:
    """One line per check that was judged, and their sum."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    table.add_column("check")
    table.add_column("outcome")
    table.add_column("points", justify="right")
    checks = [(part.id, check) for part in parts for check in part.checks]
    for part_id, check in checks:
        word = Text(OUTCOMES[check.outcome], STYLES.get(check.outcome, "yellow"))
        table.add_row(
            f"{part_id}.{check.id}", word, f"{points(check.points)}/{points(check.max_points)}"
        )
    owed, most = sum(check.owed for _, check in checks), sum(part.max_score for part in parts)
    total = f"{points(sum(part.score for part in parts))}/{points(most - owed)}"
    table.add_row(
        Text("total", "bold"),
        f"{points(owed)} of {points(most)} owed" if owed else "",
        Text(total, "bold"),
    )
    return table
