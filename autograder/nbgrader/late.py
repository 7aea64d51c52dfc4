"""What handing in late takes, into nbgrader's gradebook.

By the lab's late policy, and then by nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC
from pathlib import Path
from typing import Any

from autograder.handed_in import times
from autograder.handed_in.times import Handed
from autograder.model import Result
from autograder.results.standing import Rules, stand


def governs(rules: Rules, lab: str) -> bool:
    """Whether a lab has a late policy; if not, lateness is nbgrader's own business."""
    return lab in rules.labs and rules.labs[lab].late is not None


def take(
    gradebook: Any,
    assignment: str,
    student: str,
    result: Result,
    folder: Path,
    rules: Rules,
) -> str:
    """Write what is taken from each notebook, of what it is worth with what persons gave.

    Returns what is taken, or why that is unclear. handed_in.csv beside the results says when it
    came, else nbgrader does.
    """
    submission = gradebook.find_submission(assignment, student)
    handed = _handed(submission, times.read(folder).get(result.submission, Handed()))
    taken = ""
    if governs(rules, result.lab):
        standing = stand(result, folder / student, handed, rules)
        late = standing.late
        _write_penalties(submission.notebooks, late.share if late else 0.0)
        if late:
            taken = str(late)
        elif standing.unclear:
            taken = f"{standing.unclear}; write it into handed_in.csv"
    gradebook.db.commit()
    return taken


def _handed(submission: Any, handed: Handed) -> Handed:
    """Let the gradebook have our time, or take nbgrader's; it keeps times without a zone."""
    if handed.at:
        submission.timestamp = handed.at.astimezone(UTC).replace(tzinfo=None)
    elif submission.timestamp:
        return replace(handed, at=submission.timestamp.replace(tzinfo=UTC))
    return handed


def _write_penalties(notebooks: Iterable[Any], share: float) -> None:
    """Round sums, so that the parts make up what is taken of the whole, to the last digit."""
    before = 0.0
    for notebook in sorted(notebooks, key=lambda notebook: notebook.name):
        after = before + notebook.score
        penalty = round(share * after, 2) - round(share * before, 2)
        notebook.late_submission_penalty = round(penalty, 2)
        before = after
