"""A step that points to another check is said of that check, or not at all."""

from __future__ import annotations

import pytest

from autograder.grading.first_steps import settled
from autograder.model import CheckResult

POINTER = "fix counts first if it fails; else divide by the samples"


def checks(outcome, try_=POINTER):
    others = [CheckResult("counts", outcome, "outputs", 0.0, 1.0, "It counts.")] if outcome else []
    own = CheckResult("mean", "failed", "outputs", 0.0, 1.0, "It is the mean.", try_=try_)
    return [*others, own]


STEPS = {
    "failed": ("failed", POINTER, "fix counts first"),
    "partly right": ("partial", POINTER, "fix counts first"),
    "right": ("passed", POINTER, "divide by the samples"),
    "right, then": ("passed", "fix counts first if it fails; then divide", "divide"),
    "behind another one": (
        "passed",
        "fix counts first if it fails; then fix sums first if it fails; then divide",
        "fix sums first if it fails; then divide",
    ),
    "the same twice": (
        "passed",
        "fix counts first if it fails; then fix counts first if it fails; then divide",
        "divide",
    ),
    "owed": ("unavailable", POINTER, POINTER),
    "not judged yet": ("", POINTER, POINTER),
    "no pointer": ("failed", "divide by the samples", "divide by the samples"),
}


@pytest.mark.parametrize(("outcome", "try_", "said"), STEPS.values(), ids=STEPS)
def test_the_other_check_is_named_where_it_failed(outcome, try_, said):
    assert said == settled(checks(outcome, try_))[-1].try_
