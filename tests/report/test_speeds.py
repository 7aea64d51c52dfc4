"""Speedups of a class, and who stands where."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autograder.model import Device
from autograder.report.speeds import places, speeds
from autograder.report.tally import Row
from tests.samples import a_check, a_part, a_result


def measured(name, low, high, outcome="passed", **changes):
    """A submission with one timed check."""
    check = a_check(
        outcome=outcome,
        points=6,
        evidence={"pairs": [0.1] * 9, "interval": [low, high], "bar": 1.5},
    )
    return Row(a_result(a_part("p", "P", check), submission=name), name, **changes)


def test_the_fastest_come_first_and_those_who_overlap_share_a_place():
    """A tie is in the order of the middles of the intervals."""
    (found,) = speeds(
        [measured("slow", 1.5, 1.6), measured("tied", 1.9, 2.1), measured("fast", 2.0, 2.2)]
    )

    assert [(1, "fast"), (1, "tied"), (3, "slow")] == [
        (one.place, one.row.name) for one in found.board
    ]
    assert ["1.55", "2.00", "2.10"] == [f"{ratio:.2f}" for ratio in found.ratios]
    assert ("p.amp_is_faster", 1.5) == (found.check, found.bar)


BOARD = {
    "passed": (measured("a", 1.6, 1.7), 1, 1),
    "partly": (measured("a", 1.6, 1.7, "partial"), 1, 1),
    "failed: measured, and not shown to others": (measured("a", 1.0, 1.1, "failed"), 1, 0),
    "undecided": (measured("a", 0.5, 4.0, "inconclusive"), None, None),
    "opted out: counted, and not named": (measured("a", 1.6, 1.7, ranked=False), 1, 0),
    "not timed": (Row(a_result(a_part("p", "P", a_check(evidence={}))), "a"), None, None),
}


@pytest.mark.parametrize(("row", "ratios", "board"), BOARD.values(), ids=BOARD)
def test_who_is_counted_and_who_is_named(row, ratios, board):
    found = [(len(one.ratios), len(one.board)) for one in speeds([row])]

    assert ([] if ratios is None else [(ratios, board)]) == found


def test_two_kinds_of_device_are_not_compared():
    other = measured("b", 1.6, 1.7)
    other = replace(other, result=replace(other.result, device=Device("Tesla T4", "cuda", "t4")))

    assert ["NVIDIA H100 80GB HBM3", "Tesla T4"] == [
        one.device for one in speeds([measured("a", 1.6, 1.7), other])
    ]


def test_the_board_reaches_from_the_lowest_end_to_the_highest():
    (found,) = speeds([measured("a", 1.0, 2.0), measured("b", 2.0, 4.0)])

    assert [0.0, 50.0, 100.0] == [round(found.at(ratio), 6) for ratio in (1.0, 2.0, 4.0)]


def test_of_several_attempts_of_a_student_the_fastest_stands_on_the_board():
    attempts = [
        measured(f"ada-{n}", low, low + 0.1, student="ada") for n, low in enumerate((1.6, 1.9, 1.7))
    ]
    (board,) = speeds([*attempts, measured("bo", 1.5, 1.6, student="bo")])

    assert ["ada-1", "bo"] == [entry.row.name for entry in board.board]
    assert 4 == len(board.ratios)


SIX = [
    measured(name, low, low + 0.05, student=name, public="Fay" if name == "f" else "")
    for name, low in zip("abcdef", (1.5, 1.6, 1.7, 1.8, 1.9, 2.0), strict=True)
]
PLACES = {
    "last": (
        "a",
        "Place 6 of 6 on the leaderboard; just ahead: d 1.82x, c 1.72x, b 1.62x.",
    ),
    "second, behind one who is named": (
        "e",
        "Place 2 of 6 on the leaderboard; just ahead: Fay 2.02x.",
    ),
    "first": ("f", "Place 1 of 6 on the leaderboard: nobody is measurably faster."),
}


@pytest.mark.parametrize(("student", "said"), PLACES.values(), ids=PLACES)
def test_ones_own_place_names_at_most_three_who_are_just_ahead(student, said):
    device = SIX[0].result.device.name

    assert said == str(places(speeds(SIX), student, device)["p.amp_is_faster"])
    assert {} == places(speeds(SIX), student, "Tesla T4")
    assert {} == places(speeds(SIX), "nobody", device)
