"""Intervals: merged, joined, cut, and what is left between them."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.traces.spans import EMPTY, Spans, growth, overlap


def spans(*pairs):
    return Spans.of(
        np.array([a for a, _ in pairs], np.int64), np.array([b for _, b in pairs], np.int64)
    )


def pairs(one):
    return list(zip(one.start.tolist(), one.end.tolist(), strict=True))


@pytest.mark.parametrize(
    ("given", "merged"),
    [
        pytest.param([], [], id="none"),
        pytest.param([(5, 5), (7, 6)], [], id="empty and reversed ones vanish"),
        pytest.param([(4, 6), (0, 2)], [(0, 2), (4, 6)], id="sorted"),
        pytest.param([(0, 2), (2, 4)], [(0, 4)], id="touching"),
        pytest.param(
            [(0, 10), (1, 2), (9, 12), (20, 21)], [(0, 12), (20, 21)], id="one inside another"
        ),
    ],
)
def test_intervals_are_merged(given, merged):
    assert merged == pairs(spans(*given))


def test_lengths_tell_what_overlaps():
    """Overlap and exposure need no intersection: they follow from unions."""
    one, other = spans((0, 10), (20, 30)), spans((5, 25))

    assert 20 == one.length
    assert [(0, 30)] == pairs(one | other)
    assert 10 == overlap(one, other)
    assert 0 == overlap(one, EMPTY)
    assert bool(one)
    assert not EMPTY


def test_gaps_lie_before_between_and_after():
    assert [2, 5, 1] == spans((2, 5), (10, 14)).gaps((0, 15)).tolist()
    assert [] == spans((0, 20)).gaps((5, 10)).tolist()
    assert [5] == EMPTY.gaps((5, 10)).tolist()


def test_a_moment_is_held_from_its_beginning_to_before_its_end():
    assert [False, True, True, False, True, False] == spans((2, 5), (10, 14)).hold(
        np.array([1, 2, 4, 5, 13, 14])
    ).tolist()
    assert [False] == EMPTY.hold(np.array([3])).tolist()


def test_growth_counts_each_moment_once():
    """What stands first wins, and only the window counts."""
    layers = {"first": spans((0, 4)), "second": spans((2, 8)), "third": spans((3, 30))}

    assert {"first": 4, "second": 4, "third": 2} == growth(layers, (0, 10))


def test_coverage_adds_up_to_the_length():
    shares = spans((0, 10), (25, 30)).coverage((0, 40), 4)

    assert [1, 0, 0.5, 0] == shares.tolist()
    assert [0, 0] == EMPTY.coverage((0, 2), 2).tolist()
