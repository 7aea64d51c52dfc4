"""What moved between two results, said in one line each."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autograder.model import Device
from autograder.results.diff import (
    MAXIMUM,
    Difference,
    Move,
    circumstances,
    in_all,
    moved,
    outcomes,
    scored,
)
from autograder.results.overrides import Override, applied
from tests.samples import H100, a_check, a_part, a_result

OTHER = Device("Tesla T4", "cuda", "t4", {"torch": "2.15.1", "nsys": "2026.1"})


def result(*checks):
    return a_result(a_part("part3_amp", "Mixed precision", *checks))


def test_the_same_result_differs_in_nothing():
    """Neither in how it was graded nor in what came out."""
    assert [] == [*circumstances(a_result(), a_result()), *outcomes(a_result(), a_result())]


def test_machines_and_versions_are_named():
    """Also a version that only one of them has."""
    old, new = result(a_check()), replace(result(a_check()), device=OTHER, seed=4, isolation="none")

    assert [
        f"seed: {old.seed} -> 4",
        "isolation: bubblewrap -> none",
        f"device: {H100.name} -> Tesla T4",
        "nsys: none -> 2026.1",
        f"python: {H100.versions['python']} -> none",
        "torch: 2.15.0 -> 2.15.1",
    ] == [str(found) for found in circumstances(old, new)]


CASES = {
    "an outcome": (a_check(outcome="passed", points=6), "failed 0/6 -> passed 6/6", True),
    "points alone": (a_check(points=1), "failed 0/6 -> failed 1/6", True),
    "an outcome without points": (a_check(outcome="skipped"), "failed 0/6 -> skipped 0/6", False),
    "what was measured": (a_check(measured="1.02x"), f"{a_check().measured} -> 1.02x", False),
}


def test_checks_are_compared_by_outcome_then_points_then_measurement():
    """Only a change of points is one that moves a grade."""
    for new, words, moves in CASES.values():
        [found] = outcomes(result(a_check()), result(new))

        assert (f"part3_amp.amp_is_faster: {words}", moves) == (str(found), found.moves_points)


def test_a_check_that_is_gone_is_said_and_a_new_one_is_not():
    """The old result is what is replayed."""
    old, new = result(a_check(points=2)), result(a_check(id="another"))

    [gone] = outcomes(old, new)
    assert ("part3_amp.amp_is_faster: failed -> no such check now", True) == (
        str(gone),
        gone.moves_points,
    )


BY_HAND = Override(
    "part3_amp.amp_is_faster", 6, "timer", "meera", "now", a_result().submission_sha256, 6
)
MOVES = {
    "nobody": (
        result(a_check()),
        replace(result(a_check(measured="1.02x")), seed=4, device=OTHER),
        [],
    ),
    "up": (
        result(a_check()),
        result(a_check(outcome="passed", points=6)),
        ["ada: 0 -> 6", "  part3_amp.amp_is_faster: failed 0/6 -> passed 6/6"],
    ),
    "no points, and another outcome": (
        result(a_check()),
        result(a_check(outcome="inconclusive")),
        ["ada: 0 -> 0", "  part3_amp.amp_is_faster: failed 0/6 -> inconclusive 0/6"],
    ),
    "worth more": (
        result(a_check()),
        replace(result(a_check(max_points=8)), lab_version="2"),
        [
            "ada: 0 -> 0",
            "  points in all: 6 -> 8",
            "  part3_amp.amp_is_faster: failed 0/6 -> failed 0/8",
            "  lab_version: 1.0 -> 2",
        ],
    ),
    "a check that came and one that went": (
        result(a_check(points=2)),
        result(a_check(id="another", outcome="passed", points=6)),
        [
            "ada: 2 -> 6",
            "  part3_amp.amp_is_faster: failed 2/6 -> no such check",
            "  part3_amp.another: no such check -> passed 6/6",
        ],
    ),
    "by hand": (
        result(a_check()),
        applied(result(a_check()), [BY_HAND]),
        [
            "ada: 0 -> 6",
            "  part3_amp.amp_is_faster: failed 0/6 -> passed 6/6, set by hand: timer (the grader: failed, 0 of 6)",
        ],
    ),
    "by hand, and the check is worth less now": (
        applied(result(a_check()), [replace(BY_HAND, points=3)]),
        applied(result(a_check(max_points=3)), [replace(BY_HAND, points=3)]),
        [
            "ada: 3 -> 3",
            "  points in all: 6 -> 3",
            (
                "  part3_amp.amp_is_faster: partial 3/6, set by hand: timer (the grader: failed, 0 of 6) -> "
                "passed 3/3, set by hand: timer (the grader: failed, 0 of 3); "
                "it was set when the check had 6 points: look at it again"
            ),
        ],
    ),
    "another bar": (
        result(a_check()),
        result(a_check(outcome="passed", points=6, measured="1.02x", evidence={"bar": 1.0})),
        [
            "ada: 0 -> 6",
            "  part3_amp.amp_is_faster: failed 0/6 -> passed 6/6",
            "  the bar of part3_amp.amp_is_faster: 1.5 -> 1",
        ],
    ),
    "something else was found": (
        result(a_check()),
        result(a_check(outcome="skipped", measured="", reason="follows_fp32 did not pass")),
        [
            "ada: 0 -> 0",
            "  part3_amp.amp_is_faster: failed 0/6 -> skipped 0/6",
            f"  found by part3_amp.amp_is_faster: {a_check().measured} -> follows_fp32 did not pass",
        ],
    ),
    "a result that is new": (None, result(a_check(points=2)), ["ada: no result -> 2"]),
    "a result that is gone": (result(a_check()), None, ["ada: 0 -> no result"]),
}


@pytest.mark.parametrize(("old", "new", "said"), MOVES.values(), ids=MOVES)
def test_who_moved_is_named_with_the_reason(old, new, said):
    """Fresh inputs and other measurements with the same outcome move nobody."""
    found = moved({"ada": old} if old else {}, {"ada": new} if new else {})

    assert said == [line for one in found for line in str(one).splitlines()]


def test_those_who_moved_come_by_name():
    """Whatever the order of the folders."""
    old, new = result(a_check()), result(a_check(points=1))

    assert ["ada", "ben", "zoe"] == [
        one.submission for one in moved({"zoe": old, "ben": old}, {"zoe": new, "ada": new})
    ]


SUMS = {
    "nobody": ([], "none of the 8 that were graded before has another score"),
    "one": (
        [Move("ada", 4, 2)],
        "1 of the 8 that were graded before has another score, -2 points in all",
    ),
    "of other checks": (
        [Move("ada", 4, 2), Move("ben", 25, 25), Move("dan", 1, 4)],
        (
            "2 of the 8 that were graded before have another score, +1 points in all"
            "; 1 with the same score, of other checks or points"
        ),
    ),
    "of another maximum": (
        [Move("ada", 4, 4, (Difference(MAXIMUM, "20", "18"),))],
        (
            "none of the 8 that were graded before has another score"
            "; 1 with another number of points in all; 1 with the same score, of other checks or points"
        ),
    ),
    "who came and who went": (
        [Move("cem", None, 3), Move("eve", 3, None)],
        (
            "none of the 8 that were graded before has another score"
            "; 1 without a result before; 1 without a result now"
        ),
    ),
}


@pytest.mark.parametrize(("moves", "said"), SUMS.values(), ids=SUMS)
def test_only_another_score_is_a_move_in_the_sum(moves, said):
    """Nobody who had no result before has another one."""
    assert said == in_all(moves, 8)


def test_of_many_checks_that_moved_at_once_a_run_shows_the_first():
    """Both folders are named: without a copy from before, `perflab diff` has nothing to compare."""
    why = tuple(Difference(f"part.check{n}", "unread 0/1", "passed 1/1") for n in range(9))
    lines = Move("ada", 0, 9, why).shortly("results").splitlines()

    assert "ada: 0 -> 9" == lines[0]
    [last] = lines[7:]
    assert last.startswith("  and 3 more checks; to see all lines next time, copy results to ")
    assert last.endswith("perflab diff results.before results")
    found = tuple(Difference(f"found by part.check{n}", "busy", "1.5x") for n in range(9))
    hashed = (*why[:7], Difference("submission_sha256", "a", "b"))
    for some, more in (((hashed, found), "1 more check"), ((why[:6], found), "more about these")):
        assert f"\n  and {more}; to see" in Move("ada", 0, 9, *some).shortly("results")
    assert str(Move("ada", 0, 6, why[:6])) == Move("ada", 0, 6, why[:6]).shortly("results")


def test_who_has_another_score_is_named():
    moves = [Move("ada", 4, 2), Move("ben", 25, 25), Move("cem", None, 3)]

    assert ["ada", "cem"] == [one.submission for one in scored(moves)]
