"""What a person reads of a part, and what nobody has to: notes that are missing, or are as they were handed out."""

from __future__ import annotations

from dataclasses import replace

from autograder.config import PartConfig
from autograder.grading.kit import Kit
from autograder.lab import Part
from autograder.model import CheckResult, Submission


def rubric(
    part: Part, config: PartConfig, submission: Submission, kit: Kit, unread: str, *, refused: bool
) -> list[CheckResult]:
    """Return an item for each thing that a person looks for; *unread* says why the files could not be read."""
    pages = [file for file in part.artefacts.values() if file.endswith(".md")]
    items = [_item(name, points, config, pages) for name, points in config.rubric.items()]
    if unread:
        return [replace(item, outcome="unread", reason=unread) for item in items]
    if refused or not pages or any(_is_written(page, submission, kit) for page in pages):
        return items
    return [_unwritten(item, pages, submission) for item in items]


def _item(name: str, points: float, config: PartConfig, pages: list[str]) -> CheckResult:
    reason = f"a person reads {', '.join(pages) or 'it'}"
    title = config.says[name]
    return CheckResult(name, "unavailable", "person", 0.0, points, title, reason=reason)


def _unwritten(item: CheckResult, pages: list[str], submission: Submission) -> CheckResult:
    """Fail an item whose pages hold nothing of the student's own."""
    handed_in = [page for page in pages if page in submission.files]
    names = ", ".join(pages)
    measured = f"no {names}"
    reason = "it is missing, or has another name"
    if handed_in:
        measured = f"{', '.join(handed_in)} as it was handed out"
        reason = "none of its questions is answered"
    try_ = f"answer the questions of {names} in your own words"
    return replace(item, outcome="failed", reason="", measured=measured, why=reason, try_=try_)


def _is_written(page: str, submission: Submission, kit: Kit) -> bool:
    """Whether a page may hold anything of the student's own: one that was not taken may."""
    if page in submission.refused:
        return True
    text = submission.files.get(page, b"").decode(errors="replace")
    return not _lines(text) <= {"", *_lines(kit.released.texts.get(page, ""))}


def _lines(text: str) -> set[str]:
    return {line.strip() for line in text.splitlines()}
