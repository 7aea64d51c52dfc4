"""One submission -> Result: its parts, their points, and what is to be said of its files.

part.py judges the checks of a part, evidence.py finds what they rest on; the session's `run` is what starts workers.
A test hands in a fake one, and then nothing here needs torch, a process or a clock.
"""

from __future__ import annotations

from collections.abc import Collection

from autograder.grading import scoring, unread
from autograder.grading.kit import Kit, Session
from autograder.grading.part import PartGrader
from autograder.model import Result, Submission
from autograder.result_file import FORMAT


def grade(
    submission: Submission,
    kit: Kit,
    session: Session,
    *,
    seed: int,
    attempt: int = 1,
    parts: Collection[str] = (),
    only: str = "",
    settled: Result | None = None,
    refusal: str = "",
) -> Result:
    """Grade a submission: every part, or the named ones; every check, or one and those it needs.

    What *settled*, its result so far, has settled is kept. With a *refusal* nothing is run: it is why the rest is owed.
    """
    begun = session.now()
    before = {part.id: part.checks for part in settled.parts} if settled else {}
    graders = [
        PartGrader(part, submission, kit, session, seed, before.get(part.id, ()), refusal)
        for part in kit.lab.parts
        if not parts or part.id in parts
    ]
    results = tuple(grader.result(only) for grader in graders)
    score, max_score, owed = scoring.totals(results)
    seconds = session.now() - begun
    if settled:
        seconds += settled.seconds
    return Result(
        format=FORMAT,
        lab=kit.lab.name,
        lab_version=str(kit.config.version),
        submission=submission.name,
        submission_sha256=submission.sha256,
        attempt=attempt,
        seed=seed,
        started=session.started,
        seconds=round(seconds, 3),
        device=session.device,
        isolation=session.isolation,
        score=score,
        max_score=max_score,
        owed=owed,
        parts=results,
        notes=_notes(submission, graders, settled),
    )


def _notes(
    submission: Submission, graders: Collection[PartGrader], settled: Result | None
) -> tuple[str, ...]:
    """Say each thing once."""
    lines = unread.notes(submission)
    if settled:
        lines += settled.notes
    for grader in graders:
        lines += grader.notes
    return tuple(dict.fromkeys(lines))
