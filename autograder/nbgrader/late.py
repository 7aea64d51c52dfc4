"""What handing in late takes, into nbgrader's gradebook: by the lab's late policy, and then by nothing else."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC
from pathlib import Path
from typing import Any

from autograder.handed_in import times
from autograder.handed_in.times import Handed
from autograder.model import Result
from autograder.results.standing import Rules, stand


def governs(rules: Rules, lab: str) -> bool:
    """Say whether a lab has a late policy; if not, lateness is nbgrader's own business."""
    return rules.labs[lab].late is not None if lab in rules.labs else False


def take(
    gradebook: Any, assignment: str, student: str, result: Result, folder: Path, rules: Rules
) -> str:
    """Write what is taken from each notebook, of what it is worth with what persons gave; say it, or why nothing is.

    handed_in.csv beside the results says when it came, else nbgrader does.
    """
    submission = gradebook.find_submission(assignment, student)
    handed = times.read(folder).get(student, Handed())
    if handed.at:
        submission.timestamp = handed.at.astimezone(UTC).replace(
            tzinfo=None
        )  # as nbgrader keeps times
    elif submission.timestamp:
        handed = replace(handed, at=submission.timestamp.replace(tzinfo=UTC))
    said = ""
    if governs(rules, result.lab):
        standing = stand(result, folder / student, handed, rules)
        late, before = standing.late, 0.0
        for notebook in sorted(submission.notebooks, key=lambda one: one.name):
            sofar = before + notebook.score
            # Rounded sums, so that the parts make up what is taken of the whole, to the last digit.
            share = late.share if late else 0.0
            notebook.late_submission_penalty = round(
                round(share * sofar, 2) - round(share * before, 2), 2
            )
            before = sofar
        unclear = f"{standing.unclear}; write it into handed_in.csv" if standing.unclear else ""
        said = str(late) if late else unclear
    gradebook.db.commit()
    return said
