"""What a person reads of a part, and what nobody has to: notes that are missing, or are as they were handed out."""

from __future__ import annotations

from dataclasses import replace

from autograder.config import PartConfig
from autograder.grading.kit import Kit
from autograder.grading.unread import near_names, under_another_name
from autograder.lab import Part
from autograder.model import CheckResult, Submission

ANSWER = "*Your answer here.*"
"""Stands in notes as they are handed out, below each question."""


def rubric(
    part: Part, config: PartConfig, submission: Submission, kit: Kit, unread: str, *, refused: bool
) -> list[CheckResult]:
    """Return an item for each thing that a person looks for; *unread* says why the files could not be read."""
    pages = [file for file in part.artefacts.values() if file.endswith(".md")]
    measured = _open_questions(pages, submission, kit)
    items = [_item(name, points, config, pages, measured) for name, points in config.rubric.items()]
    if unread:
        return [replace(item, outcome="unread", reason=unread) for item in items]
    if refused or not pages or any(_is_written(page, submission, kit) for page in pages):
        return items
    return [_unwritten(item, pages, submission) for item in items]


def _item(
    name: str, points: float, config: PartConfig, pages: list[str], measured: str
) -> CheckResult:
    reason = f"a person reads {', '.join(pages) or 'it'}"
    title = config.says[name]
    return CheckResult(
        name, "unavailable", "person", 0.0, points, title, measured=measured, reason=reason
    )


def _unwritten(item: CheckResult, pages: list[str], submission: Submission) -> CheckResult:
    """Fail an item whose pages hold nothing of the student's own."""
    handed_in = [page for page in pages if page in submission.files]
    names = ", ".join(pages)
    measured = f"no {names}"
    reason = "it is missing, or has another name"
    try_ = f"answer the questions of {names} in your own words"
    if handed_in:
        measured = f"{', '.join(handed_in)} as it was handed out"
        reason = "none of its questions is answered"
    elif others := near_names(submission, pages[0]):
        reason, try_ = under_another_name(pages[0], others)
    return replace(item, outcome="failed", reason="", measured=measured, why=reason, try_=try_)


def _open_questions(pages: list[str], submission: Submission, kit: Kit) -> str:
    """Say how many places for an answer are still as they were handed out."""
    whole = sum(_places(kit.released.texts.get(page, "")) for page in pages)
    left = sum(_places(_text(page, submission)) for page in pages)
    return f"{ANSWER} is still there, {left} of {whole} times" if 0 < left <= whole else ""


def _places(text: str) -> int:
    return sum(line.strip() == ANSWER for line in text.splitlines())


def _text(page: str, submission: Submission) -> str:
    return submission.files.get(page, b"").decode(errors="replace")


def _is_written(page: str, submission: Submission, kit: Kit) -> bool:
    """Whether a page may hold anything of the student's own: one that was not taken may."""
    if page in submission.refused:
        return True
    return not _lines(_text(page, submission)) <= {"", *_lines(kit.released.texts.get(page, ""))}


def _lines(text: str) -> set[str]:
    return {line.strip() for line in text.splitlines()}
