"""What of a submission could not be read or was not looked at, in words for its author."""

from __future__ import annotations

from collections.abc import Mapping

from autograder.model import Submission

HANDED_OUT = (".perflab/", "given/", "baseline/", "handout/", "pytest.ini", "perflab-")
"""Comes with the template; the grader stages its own."""
NOT_TAKEN = " was not taken: "
"""Said of a file, too, that a notebook stands for."""
NOTHING_OF_THE_LAB = "nothing was taken: there is not one file of this lab in it"


def notes(submission: Submission) -> list[str]:
    """Return what is to be said of the files that were handed in."""
    others = [name for name in submission.left_out if not name.startswith(HANDED_OUT)]
    lines = [*dict.fromkeys(_refusals(submission).values()), *submission.notes]
    if others:
        lines.append(f"not listed by the lab, so not looked at: {', '.join(others)}")
    return lines


def reason_unread(submission: Submission, file: str) -> str:
    """Return why a part's file could not be read; nothing where it could, or where only other parts were handed in."""
    if file in submission.files:
        return ""
    otherwise = "" if submission.files else NOTHING_OF_THE_LAB
    return _refusals(submission).get(file, otherwise)


def _refusals(submission: Submission) -> Mapping[str, str]:
    """Return why each file was not taken; where nothing was, for one and the same reason, that is said once."""
    refused = submission.refused
    reasons = set(refused.values())
    if not submission.files and len(reasons) == 1 and len(refused) > 1:
        return dict.fromkeys(refused, f"nothing was taken: {reasons.pop()}")
    return {
        name: reason if NOT_TAKEN in reason else f"{name}{NOT_TAKEN}{reason}"
        for name, reason in refused.items()
    }
