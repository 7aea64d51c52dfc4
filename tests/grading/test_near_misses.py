"""Numbers that are a little too far off have to be so for other inputs as well."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autograder.grading.evidence import probe_seed
from autograder.grading.grade import grade
from autograder.model import Failed, Observation, Pair, Passed
from tests.toy import good, toy_kit, toy_session, toy_submission

SEED = 7


def judge(both: Pair):
    """Allow the student's side 1, as a claim does with how far its numbers are off."""
    off = both.student.values["x"]
    evidence = {"shares": {"numbers": off}}
    return Passed(f"{off}", evidence) if off <= 1 else Failed(f"{off}", "why", "try", evidence)


def looked_at(answers, judge=judge):
    """Grade "equal" where the student's side answers these, draw after draw."""
    kit = toy_kit()
    part = kit.lab.parts[0]
    part.checks["equal"] = replace(part.checks["equal"], judge=judge)
    seeds = []

    def run(job):
        if (job.probe, job.side) != ("both", "student"):
            return good(job.probe)
        seeds.append(job.seed)
        return answers[len(seeds) - 1]

    result = grade(toy_submission(), kit, toy_session(run), seed=SEED, only="equal")
    check = result.parts[0].checks[-1]
    expected = [probe_seed(SEED + draw, part.id, "both") for draw in range(len(seeds))]
    assert expected == seeds
    return check.outcome, check.measured, len(seeds)


LATE = Observation("both", "timeout", error="60 s")
LOOKS = {
    "right": ([0.5], ("passed", "0.5", 1)),
    "unlucky": ([1.5, 0.01], ("passed", "0.01", 2)),
    "wrong by little": ([2.0, 3.0], ("failed", "2.0", 2)),
    "wrong by far": ([5000.0], ("failed", "5000.0", 1)),
    "the second draw cannot be judged": ([1.5, LATE], ("failed", "1.5", 2)),
}


@pytest.mark.parametrize(("off", "expected"), LOOKS.values(), ids=LOOKS)
def test_only_a_near_miss_is_drawn_again(off, expected):
    """Where numbers cancel, rounding is large beside what is left; a mistake is one for any numbers."""
    answers = [it if isinstance(it, Observation) else good("both", it) for it in off]

    assert expected == looked_at(answers)


def test_a_failure_that_measured_no_distance_is_final():
    """A wrong shape is wrong for any numbers."""
    failed = Failed("(2,) instead of (3,)", "why", "try")

    assert ("failed", failed.measured, 1) == looked_at([good("both")], lambda both: failed)
