"""The result of one submission.

It is the recorded one, if that is of these very files and rests on nothing that changed. Else it is
a new one, if allowed: only what the change affects is graded again, and the journal of the results
has it, as if `perflab grade` had done it.
"""

from __future__ import annotations

import atexit
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from autograder.batch import store
from autograder.batch.circumstances import changed, circumstances, machine, rests_on, still_good
from autograder.batch.journal import Circumstances, Journal
from autograder.batch.lanes import Work, still
from autograder.course import Course, find_root
from autograder.errors import NotGradedError, PerflabError
from autograder.grading.grade import grade
from autograder.grading.kit import Kit, Session
from autograder.grading.session import Isolation, open_session
from autograder.handed_in.folders import JOURNAL
from autograder.machine.turns import only_one
from autograder.model import Result, Submission
from autograder.result_file import load_result
from autograder.results import requests, standing


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
    """Find or make the result of what *student* handed in.

    Whatever prevents it is the reason that it stays ungraded.
    """
    try:
        course = _course(source.course)
        kit = course.kit(source.lab)
        loaded = store.load_or_say(handed_in, kit.lab.files, kit.released)
        submission = replace(loaded, name=student)
        if loaded.request:
            requests.keep(source.folder / student, loaded.request)
        reason = stale(source, submission, kit)
        if reason:
            if not source.grade_when_absent:
                raise NotGradedError(
                    f"{reason}; run perflab grade {source.lab} submitted --out {source.folder}"
                )
            _grade(source, submission, kit, _session(course, source.device, source.isolation))
        return read_by_a_machine(standing.load(source.folder / student / store.RESULT))
    except NotGradedError:
        raise
    except PerflabError as problem:
        raise NotGradedError(str(problem)) from None


def rules(source: Source) -> standing.Rules:
    """Find what lateness is held to: the lab's policy, and the roster beside the results."""
    kit = _course(source.course).kit(source.lab)
    return standing.rules({source.lab: kit.config}, source.folder)


def read_by_a_machine(result: Result) -> Result:
    """Refuse what could not be read.

    It has no verdict until a person sets one with `perflab override`.
    """
    if result.unread:
        raise NotGradedError("; ".join(result.unread))
    return result


def programs_of(source: Source) -> list[str]:
    """Name the files that students write beside their notebooks."""
    kit = _course(source.course).kit(source.lab)
    return [name for part in kit.lab.parts for name in part.programs]


def stale(source: Source, submission: Submission, kit: Kit) -> str:
    """Return why the recorded result, if any, is not that of this submission.

    A broken result raises what is wrong.
    """
    file = source.folder / submission.name / store.RESULT
    if not file.is_file():
        return f"no result for {submission.name} in {source.folder}"
    result = load_result(file)
    if result.lab != source.lab:
        return f"the result in {file.parent} is of lab {result.lab}"
    if result.submission_sha256 != submission.sha256:
        return f"the result in {file.parent} is of other files than were handed in"
    current = str(kit.config.version)
    if result.lab_version != current:
        return f"the result is of version {result.lab_version}, now {current}"
    return _outdated(source, result, kit)


def _outdated(source: Source, result: Result, kit: Kit) -> str:
    """Return what changed since.

    Where results lie without their journal, as a job of a cluster writes them, nobody can tell.
    Another machine, fence or release of perflab is no reason: a class is graded where the GPU is,
    and then taken here.
    """
    if not (source.folder / JOURNAL).is_file():
        return ""
    digest = store.digest(result.submission, source.folder)
    with Journal(source.folder) as journal:
        under = journal.made_under(result.submission, digest)
    if under is None:
        return ""
    where = f"the result in {source.folder / result.submission}"
    if not under.code:
        return f"{where} is not as it was written"
    code, parts = rests_on(kit, result.device.tier)
    if code != under.code:
        return f"{where} is from before a change of what all parts share"
    changes = changed(under.parts, parts)
    if not changes:
        return ""
    more = f" and {len(changes) - 1} more" if len(changes) > 1 else ""
    return f"{where} is from before a change of {changes[0]}{more}"


def _grade(source: Source, submission: Submission, kit: Kit, session: Session) -> None:
    work = Work(kit, lambda: nullcontext(session), source.folder)
    with only_one(source.folder), Journal(source.folder) as journal:
        last = journal.last()
        seed = journal.seed_for(source.lab, None, resume=True)
        under = circumstances(work, session)
        journal.begin(under, seed, 1, machine(session))
        settled = _settled(work, journal, submission, under)
        if settled:
            seed = settled.seed
        attempt = journal.start(submission.name, submission.sha256)
        try:
            store.keep(submission, source.folder)
            result = grade(submission, kit, session, seed=seed, settled=settled)
            store.save(result, source.folder)
        except BaseException:
            journal.stop()
            raise
        undecided = any(item.settled_by == "again" for item in result.owed)
        digest = store.digest(submission.name, source.folder)
        journal.end(attempt, "again" if undecided else "graded", digest)
        # Else `perflab grade --resume` goes on with what was not finished.
        if last is None or last.finished:
            journal.finish()


def _settled(
    work: Work,
    journal: Journal,
    submission: Submission,
    under: Circumstances,
) -> Result | None:
    """Read what still counts of the result that is there."""
    before = journal.before(submission.name, submission.sha256)
    digest = store.digest(submission.name, work.out)
    if not before.result_sha256 or before.result_sha256 != digest:
        return None
    good = still_good(before.parts, under.parts)
    return still(work, submission.name, good) if good else None


@cache
def _course(root: Path) -> Course:
    return Course(find_root(root))


@cache
def _session(course: Course, device: str, isolation: Isolation) -> Session:
    """Open one for the whole process.

    Its warm worker is what makes the second submission cheap.
    """
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(open_session(course.config.tier, device, isolation, rehearsal=False))
