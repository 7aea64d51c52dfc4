"""One submission -> Result, when it was graded before: what is kept, and what is judged again."""

from __future__ import annotations

from dataclasses import replace

from autograder.grading.grade import grade
from autograder.model import Compared
from tests.grading.graded_toy import adds_up, graded
from tests.toy import FakeWorkers, good, toy_kit, toy_session, toy_submission

NOISY = Compared("INCONCLUSIVE", "", undecided="too noisy")


def test_what_was_settled_is_kept_and_what_is_owed_again_is_judged():
    """With all that needs it; nothing else runs, and seconds add up."""
    run = FakeWorkers()
    session = replace(toy_session(run), clock=lambda *_: NOISY)
    before = replace(grade(toy_submission(), toy_kit(), session, seed=7), seconds=2.0)
    run.asked.clear()
    session = replace(session, clock=lambda *_: Compared("PASS", "2x", 1.0))
    after = grade(toy_submission(), toy_kit(), session, seed=7, settled=before)

    assert {"faster": "inconclusive", "much_faster": "unavailable"} == {
        check.id: check.outcome for check in before.parts[0].checks if "faster" in check.id
    }
    assert [
        "positive",
        "equal",
        "faster",
        "much_faster",
        "has_table",
        "has_picture",
        "explains",
    ] == [check.id for check in after.parts[0].checks]
    assert {"passed"} == {check.outcome for check in after.parts[0].checks if "faster" in check.id}
    assert {"amp"} == {job.probe for job in run.asked}
    assert (before.score + 4, 2.0) == (after.score, after.seconds)
    assert adds_up(after)


def test_a_fault_of_ours_is_judged_again_with_all_that_rests_on_it():
    """What did not rest on it is kept."""
    before, _, _ = graded({("single", "student"): good("single", 101)})
    after, checks, run = graded(settled=before)

    assert ("passed", "passed") == (checks["positive"].outcome, checks["equal"].outcome)
    assert {"single", "both", "amp"} == {job.probe for job in run.asked}
    assert adds_up(after)


def test_with_a_refusal_nothing_runs_and_nothing_is_lost():
    """Each check is owed with the reason; what was settled before stays."""
    before, _, _ = graded()
    nothing, checks, run = graded(refusal="set aside")
    kept, _, _ = graded(refusal="set aside", settled=before)

    assert ([], {"set aside"}) == (
        run.asked,
        {c.reason for c in checks.values() if c.basis != "person"},
    )
    assert (0, 14) == (nothing.score, nothing.points_owed)
    assert before.parts == kept.parts
