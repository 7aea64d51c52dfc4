"""A failure gets the hint for its cause: the first whose words it says."""

from __future__ import annotations

import pytest

from autograder.checks.hints import USUAL, caused, hint_for, hinted
from autograder.model import Failed, Passed

HINTS = {"one batch too many": "islice", "batch": "len(labels)", "3 rows": "one row for each"}
FAILURES = {
    "the first that fits": (
        Failed("2 rows", "the time includes the wait for one batch too many", "look"),
        "islice",
    ),
    "a later one": (Failed("2 rows", "a batch is missing", "look"), "len(labels)"),
    "by what was measured": (Failed("3 rows", "too few", "look"), "one row for each"),
    "none that fits": (Failed("2 rows", "too few", "look"), "look"),
}


@pytest.mark.parametrize(("judged", "hint"), FAILURES.values(), ids=FAILURES)
def test_a_failure_gets_the_hint_for_its_cause(judged, hint):
    found = hinted(judged, HINTS)

    assert (judged.measured, judged.why, hint) == (found.measured, found.why, found.try_)


def test_what_passes_gets_none():
    assert Passed("3 rows") == hinted(Passed("3 rows"), HINTS)


def test_a_problem_may_come_with_its_hint():
    assert ("a batch is missing", "len(labels)") == caused("a batch is missing", HINTS)
    assert "too few" == caused("too few", HINTS)
    assert "" == caused("", HINTS)


SLIPS = {
    "a mean": "0.72 ms is the mean of 7 calls; take the median",
    "too few": "3 calls: fewer calls than repeats",
    "cold": "the time includes the slow first call",
    "rounded": "0.72 where 0.7209 is right: it is rounded",
    "the unit": "0.0007 where 0.7209 is right: it is in seconds",
    "the device": "the device is given as 'cpu' in the column device; expected 'EPYC'",
    "the folder": "nothing in the folder that was given: folder is ignored",
}


@pytest.mark.parametrize("problem", SLIPS.values(), ids=SLIPS)
def test_a_slip_that_is_common_to_studies_has_its_own_hint(problem):
    others = [hint_for(other, USUAL) for other in SLIPS.values() if other != problem]

    assert hint_for(problem, USUAL)
    assert hint_for(problem, USUAL) not in others
