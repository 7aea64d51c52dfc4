"""The toy submission, graded by fake workers."""

from __future__ import annotations

from autograder.grading.grade import grade
from tests.toy import FakeWorkers, toy_kit, toy_session, toy_submission


def graded(answers=None, *, kit=None, submission=None, tier="t4", **options):
    """Grade the toy submission; returns the result and its checks by id."""
    run = FakeWorkers(answers or {})
    result = grade(
        submission or toy_submission(), kit or toy_kit(), toy_session(run, tier), seed=7, **options
    )
    return result, {check.id: check for check in result.parts[0].checks}, run


def adds_up(result) -> bool:
    return round(result.score + result.lost + result.points_owed - result.max_score, 9) == 0
