"""What the pages count of a class."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from autograder.handed_in.late import Late
from autograder.model import Device, Owed
from autograder.report.tally import Row, rates, shares, spent, waiting
from autograder.results.overrides import BY_HAND
from tests.samples import a_class, a_part, a_result, a_silent_check, rows


def outcomes(submission, *given):
    checks = [
        a_silent_check(id=f"check{i}", outcome=outcome, reason=f"no {i}")
        for i, outcome in enumerate(given)
    ]
    return Row(a_result(a_part("p", "P", *checks), submission=submission), submission)


def test_the_check_that_fails_most_often_comes_first():
    found = rates(
        [
            outcomes("a", "passed", "failed", "partial", "error"),
            outcomes("b", "failed", "failed", "partial", "unavailable"),
            outcomes("c", "passed", "passed", "skipped", "inconclusive"),
        ]
    )

    expected = [
        ("p.check1", {"failed": 2, "passed": 1}, 1 / 3, 0),
        ("p.check0", {"passed": 2, "failed": 1}, 2 / 3, 0),
        ("p.check2", {"partial": 2, "skipped": 1}, 0.0, 0),
        ("p.check3", {"error": 1, "unavailable": 1, "inconclusive": 1}, None, 2),
    ]
    assert expected == [(rate.check, rate.counts, rate.passing, rate.owed) for rate in found]


def test_what_a_person_corrected_is_no_verdict_of_the_check():
    """An override of a whole upload would be a failure in every check."""
    [rate] = rates([outcomes("a", "passed"), corrected_row()])

    assert {"passed": 1} == rate.counts
    assert [] == rates([corrected_row()])


def corrected_row():
    return Row(a_result(a_part("p", "P", replace(HAND, id="check0"))), "b")


def test_what_is_owed_for_one_reason_is_one_line_and_our_faults_come_first():
    found = waiting([outcomes("a", "unavailable", "error"), outcomes("b", "unavailable", "passed")])

    expected = [
        ("p.check1", "again", "error", "no 1", 6, ["a"]),
        ("p.check0", "gpu", "unavailable", "no 0", 12, ["a", "b"]),
    ]
    assert expected == [
        (w.check, w.settled_by, w.outcome, w.reason, w.points, [row.folder for row in w.rows])
        for w in found
    ]


def test_points_owed_for_a_check_that_is_not_shown_still_wait():
    row = Row(a_result(owed=(Owed("part9.gone", 3, "person"),)), "asha")

    assert [("part9.gone", "person", "unavailable", "", 3)] == [
        (w.check, w.settled_by, w.outcome, w.reason, w.points) for w in waiting([row])
    ]


def students(*checks):
    """A class of as many as each check has letters: P passed, F failed, o owed; one more check for what else is known."""
    words = {"P": ("passed", 6), "F": ("failed", 0), "o": ("unavailable", 0)}
    size = len(checks[0])
    found = []
    for n in range(size):
        given = [
            a_silent_check(
                id=f"check{i}", outcome=words[letters[n]][0], points=words[letters[n]][1]
            )
            for i, letters in enumerate(checks)
        ]
        rest = a_silent_check(id="rest", outcome="partial", points=6 * n / size)
        found.append(Row(a_result(a_part("p", "P", *given, rest)), f"s{n}"))
    return found


TOLD = {
    "those who know the rest pass": (["F" * 10 + "P" * 10], "+0.87", ""),
    "those who know the rest fail": (
        ["P" * 10 + "F" * 10],
        "-0.87",
        "who passes it does worse elsewhere",
    ),
    "anybody passes": (["PFFP" * 5], "+0.00", "who passes it does no better elsewhere"),
    "too few to say that it is odd": (["P" * 5 + "F" * 5], "-0.87", ""),
    "too few fail": (["PPPP" + "F" * 20], "None", ""),
    "owed is on neither side": (["F" * 5 + "o" * 10 + "P" * 5], "+0.98", ""),
}


@pytest.mark.parametrize(("checks", "told", "remark"), TOLD.values(), ids=TOLD)
def test_a_check_that_tells_nobody_apart_stands_out(checks, told, remark):
    """Its own points are no part of what passing is compared with."""
    rate = next(rate for rate in rates(students(*checks)) if rate.check == "p.check0")

    said = "None" if rate.discrimination is None else f"{rate.discrimination:+.2f}"
    assert (told, remark) == (said, rate.remark)


def test_a_check_alone_is_compared_with_nothing():
    alone = [Row(a_result(a_part("p", "P", a_silent_check(outcome="passed", points=6))), "a")] * 30

    assert None is rates(alone)[0].discrimination


SHARES = {"nothing": (0, 10, 0.0), "half": (5, 10, 0.5), "a lab without points": (0, 0, 0.0)}


@pytest.mark.parametrize(("score", "most", "share"), SHARES.values(), ids=SHARES)
def test_a_score_is_a_share_of_the_full_one(score, most, share):
    assert [share] == shares([Row(a_result(score=score, max_score=most), "a")])


HAND = a_silent_check(
    outcome="passed",
    points=6,
    evidence={BY_HAND: {"reason": "r", "by": "b", "at": "t", "graded": "g"}},
)
READ = replace(HAND, evidence={BY_HAND: {**HAND.evidence[BY_HAND], "graded": ""}})
MARKS = {
    "all well": ((a_silent_check(outcome="passed", points=6),), ""),
    "a loss": ((a_silent_check(outcome="failed"),), "lost"),
    "owed": ((a_silent_check(outcome="unavailable"),), "owed"),
    "undecided": ((a_silent_check(outcome="inconclusive"),), "owed undecided"),
    "our fault": ((a_silent_check(outcome="error"),), "owed fault"),
    "set by hand": ((HAND,), "hand"),
    "read by a person": ((READ,), ""),
}


@pytest.mark.parametrize(("checks", "marks"), MARKS.values(), ids=MARKS)
def test_a_row_says_by_what_it_can_be_found(checks, marks):
    assert marks == Row(a_result(a_part("p", "P", *checks)), "a").marks


def test_a_late_row_is_found_by_that_and_has_less():
    row = Row(
        a_result(a_part("p", "P", a_silent_check(outcome="passed", points=6))),
        "a",
        Late(timedelta(days=1), 0.1, 0.6),
    )

    assert ("late", 5.4) == (row.marks, row.final)


def test_a_submission_that_took_down_its_grader_is_set_aside():
    """It is said once, whatever number of checks that leaves owed."""
    gone = a_silent_check(
        outcome="error", cause="aside", reason="set aside: its grader died each time"
    )
    aside, other = Row(a_result(a_part("p", "P", gone)), "a"), outcomes("b", "error")

    assert [True, False] == [row.aside for row in (aside, other)]
    assert [True, False] == [item.said_once for item in waiting([aside, other])]


def test_the_run_is_added_up_and_the_slowest_are_named():
    results = [replace(result, seconds=float(n)) for n, result in enumerate(a_class(7))]
    results[0] = replace(results[0], device=Device("AMD EPYC", "cpu", "cpu"), isolation="none")

    found = spent(rows(results))

    assert (21.0, 3.0, [6, 5, 4, 3, 2]) == (
        found.total,
        found.median,
        [row.result.seconds for row in found.slowest],
    )
    assert {
        "AMD EPYC, isolation none": 1,
        "NVIDIA H100 80GB HBM3, isolation bubblewrap": 6,
    } == found.where
