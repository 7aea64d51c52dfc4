"""Grades a recorded result again, with its seed and the files that were kept beside it."""

from __future__ import annotations

from pathlib import Path

from autograder.batch import store
from autograder.course import Course
from autograder.errors import UserError
from autograder.grading.grade import grade
from autograder.grading.kit import Session
from autograder.handed_in import submission
from autograder.model import Result


def replay(folder: Path, old: Result, course: Course, session: Session) -> Result:
    """Grade the files kept in *folder* again; what was drawn at random then is drawn alike now."""
    kit = course.kit(old.lab)
    handed_in = submission.unpacked(folder / store.HANDED_IN, old.submission, kit.lab.files)
    if handed_in.sha256 != old.submission_sha256:
        kept, then = handed_in.sha256[:12], old.submission_sha256[:12]
        raise UserError(
            f"{folder / store.HANDED_IN}: its files hash to {kept}, the result was of {then}"
        )
    parts = [part.id for part in old.parts]
    return grade(handed_in, kit, session, seed=old.seed, attempt=old.attempt, parts=parts)
