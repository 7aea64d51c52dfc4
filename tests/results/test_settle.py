"""What one device owes and another decided is taken over, each with the device as its reason."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autograder.errors import UserError
from autograder.results.overrides import applied
from autograder.results.settle import taken
from tests.samples import a_check, a_part, a_result

NEEDS_GPU = a_check(
    id="amp_is_faster",
    outcome="unavailable",
    points=0,
    max_points=4,
    reason="no bar for cpu",
    why="",
)
UNDECIDED = a_check(id="loading", outcome="inconclusive", points=0, max_points=3, reason="busy")
READ = a_check(id="notes", basis="person", outcome="unavailable", points=0, max_points=2)


def result_of(*checks, **changes):
    return replace(a_result(a_part("part3_amp", "AMP", *checks)), **changes)


def judged(check, points, **changes):
    outcome = "passed" if points == check.max_points else "failed"
    return replace(check, outcome=outcome, points=points, reason="", measured="1.7x", **changes)


def settled(ours, theirs):
    return [*taken(ours, theirs, by="meera", at="now")]


OURS = result_of(NEEDS_GPU, UNDECIDED, READ)
THERE = {
    "was judged": (judged(NEEDS_GPU, 4), [("part3_amp.amp_is_faster", 4)]),
    "was judged and lost": (judged(UNDECIDED, 0), [("part3_amp.loading", 0)]),
    "was skipped, since another one failed": (
        replace(UNDECIDED, outcome="skipped", reason="needs it_runs, which failed"),
        [("part3_amp.loading", 0)],
    ),
    "is for a person, and was not handed in": (judged(READ, 0), [("part3_amp.notes", 0)]),
    "is owed there, too": (NEEDS_GPU, []),
    "is for a person": (judged(READ, 2), []),
    "is of another lab": (judged(a_check(id="other"), 6), []),
}


@pytest.mark.parametrize(("check", "expected"), THERE.values(), ids=THERE)
def test_what_is_owed_here_and_was_judged_there_is_taken_over(check, expected):
    assert expected == [(it.check, it.points) for it in settled(OURS, result_of(check))]


def test_the_reason_names_the_device_and_what_a_person_set_stays():
    """A second time there is nothing to take."""
    theirs = result_of(judged(NEEDS_GPU, 4))
    [decision] = made = settled(OURS, theirs)
    after = applied(OURS, made)

    assert f"judged on {theirs.device.name}: 1.7x" == decision.reason
    assert 4 == after.checks["part3_amp.amp_is_faster"].points
    assert [] == settled(after, result_of(judged(NEEDS_GPU, 0)))


def test_who_loses_points_reads_why():
    [decision] = settled(OURS, result_of(judged(NEEDS_GPU, 0, why="the loss is in float32")))

    assert decision.reason.endswith(": 1.7x; the loss is in float32")


REFUSED = {
    "other files": (
        result_of(judged(NEEDS_GPU, 4), submission_sha256="0" * 64),
        "asha: other files were graded there; grade the same files in both",
    ),
    "other points": (
        result_of(judged(replace(NEEDS_GPU, max_points=5), 5)),
        "asha: part3_amp.amp_is_faster has 4 points here and 5 there; grade both with the same points",
    ),
}


@pytest.mark.parametrize(("theirs", "problem"), REFUSED.values(), ids=REFUSED)
def test_what_does_not_fit_is_refused(theirs, problem):
    with pytest.raises(UserError) as refused:
        settled(OURS, theirs)

    assert problem == str(refused.value)
