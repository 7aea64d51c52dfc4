"""The result of one submission: the one that is there, if it is of these very files; else a new one, if allowed."""

from __future__ import annotations

import atexit
import secrets
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from autograder import batch, standing
from autograder.course import Course, find_root
from autograder.errors import NotGradedError, PerflabError
from autograder.grade import Kit, Session
from autograder.model import Result, Submission, load_result
from autograder.practice import Isolation, open_session


@dataclass(frozen=True)
class Source:
    """Where results are, and how one is made that is not there."""

    course: Path
    lab: str
    folder: Path
    """What `perflab grade --out` writes."""
    grade_when_absent: bool
    isolation: Isolation
    device: str


def verdict(source: Source, student: str, handed_in: Path) -> Result:
    """Find or make the result of what *student* handed in; whatever prevents it is the reason it stays ungraded."""
    try:
        course = _course(source.course)
        kit = course.kit(source.lab)
        submission = replace(batch.load_or_say(handed_in, kit.lab.files, kit.released), name=student)
        reason = stale(source, submission, kit)
        if not reason:
            return standing.load(source.folder / student / batch.RESULT)
        if not source.grade_when_absent:
            raise NotGradedError(f"{reason}; run perflab grade {source.lab} submitted --out {source.folder}")
        return _graded(source, submission, kit, _session(course, source.device, source.isolation))
    except NotGradedError:
        raise
    except PerflabError as problem:
        raise NotGradedError(str(problem)) from None


def stale(source: Source, submission: Submission, kit: Kit) -> str:
    """Say why the recorded result, if any, is not that of this submission; a broken one raises what is wrong."""
    file = source.folder / submission.name / batch.RESULT
    if not file.is_file():
        return f"no result for {submission.name} in {source.folder}"
    result = load_result(file)
    if result.lab != source.lab:
        return f"the result in {file.parent} is of lab {result.lab}"
    if result.submission_sha256 != submission.sha256:
        return f"the result in {file.parent} is of other files than were handed in"
    current = str(kit.config.version)
    return "" if result.lab_version == current else f"the result is of version {result.lab_version}, now {current}"


def _graded(source: Source, submission: Submission, kit: Kit, session: Session) -> Result:
    return batch.grade_one(submission, kit, session, source.folder, seed=secrets.randbits(48))


@cache
def _course(root: Path) -> Course:
    return Course(find_root(root))


@cache
def _session(course: Course, device: str, isolation: Isolation) -> Session:
    """Open one for the whole process: its warm worker is what makes the second submission cheap."""
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(open_session(course, device, isolation, rehearsal=False))
