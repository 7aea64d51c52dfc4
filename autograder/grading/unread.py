"""What of a submission could not be read or was not looked at, in words for its author."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import PurePosixPath

from autograder.model import Submission
from autograder.part_name import number

HANDED_OUT = (
    *(".perflab/", "given/", "baseline/", "handout/", "pytest.ini", "perflab-", "students.md"),
    *("submission_secret.txt", "timestamp.txt"),
)
"""Comes with the template, of which the grader stages its own, or is put there by nbgrader."""
NOT_TAKEN = " was not taken: "
"""Said of a file, too, that a notebook stands for."""
OTHER_NAMES = "other_names"
"""In the evidence of a check that found no file: what may be that file."""
NEAR = 0.8
"""How alike two names are, from 0 to 1, of which one may be meant for the other."""
NOTHING_OF_THE_LAB = "nothing was taken: there is not one file of this lab in it"


def notes(submission: Submission) -> list[str]:
    """Return what is to be said of the files that were handed in."""
    others = _others(submission)
    lines = [*dict.fromkeys(_refusals(submission).values()), *submission.notes]
    if others:
        lines.append(f"not listed by the lab, so not looked at: {', '.join(others)}")
    return lines


def other_names(submission: Submission, file: str) -> list[str]:
    """Name the code that may be a part's file, under a name or in a folder that the lab does not list."""
    numbers = (None, number(file))
    return [
        name
        for name in _others(submission)
        if name.endswith((".py", ".ipynb")) and number(PurePosixPath(name).name.lower()) in numbers
    ]


def wanted_name(file: str, others: Sequence[str]) -> str:
    """Return what a part's file has to be called, as the notebook or the file that it is."""
    return str(PurePosixPath(file).with_suffix(PurePosixPath(others[0]).suffix))


def near_names(submission: Submission, file: str) -> list[str]:
    """Name what may be a table, a picture or notes under a name that is a little different."""
    end = PurePosixPath(file).suffix
    bare = {name: PurePosixPath(name).name.lower() for name in _others(submission)}
    return [
        name
        for name, it in bare.items()
        if it.endswith(end) and SequenceMatcher(None, it, file).ratio() >= NEAR
    ]


def under_another_name(wanted: str, others: Sequence[str]) -> tuple[str, str]:
    """Say why a file was not found that may be there, and what to try."""
    why = f"you submitted {', '.join(others)}, which the lab does not ask for"
    return why, f"if that is your file, call it {wanted} and put it beside the others"


def _others(submission: Submission) -> list[str]:
    """Name the files that the lab does not list and did not hand out."""
    return [
        name
        for name in submission.left_out
        if not any(f"/{own}" in f"/{name}" for own in HANDED_OUT)
    ]


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
