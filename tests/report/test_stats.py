"""Plain numbers: distributions, how far a check tells students apart, places, pseudonyms."""

from __future__ import annotations

import math
import statistics

import pytest

from autograder.report.stats import (
    pass_rate,
    places,
    point_biserial,
    pseudonym,
    remark,
    spread,
    tenths,
)

TENTHS = {
    "nothing": ([0.0], 0),
    "exactly a tenth": ([0.1], 1),
    "nearly all": ([0.999], 9),
    "all": ([1.0], 9),
    "more than all": ([1.2], 9),
}


@pytest.mark.parametrize(("shares", "tenth"), TENTHS.values(), ids=TENTHS)
def test_a_share_falls_into_its_tenth(shares, tenth):
    assert [1 if i == tenth else 0 for i in range(10)] == [one.many for one in tenths(shares)]


SPREADS = {
    "nobody": ([], [], []),
    "one": ([2.0], [], [(2.0, 2.04, 1)]),
    "all the same": ([2.0, 2.0], [], [(2.0, 2.04, 2)]),
    "bins of one ratio": ([1.0, 2.1, 16.0], [], [(1.0, 4.0, 2), (4.0, 16.0, 1)]),
    "as far as the bar": ([1.0, 1.1], [16.0], [(1.0, 4.0, 2), (4.0, 16.0, 0)]),
    "as low as the bar": ([8.0], [0.5], [(0.5, 2.0, 0), (2.0, 8.0, 1)]),
}


@pytest.mark.parametrize(("values", "also", "expected"), SPREADS.values(), ids=SPREADS)
def test_speedups_are_counted_in_bins_of_one_ratio(values, also, expected):
    found = spread(values, *also, most=2)

    assert expected == [(round(low, 2), round(high, 2), many) for low, high, many in found]


def test_no_bin_is_narrower_than_noise():
    """Values within 5 % need no sixteen bins."""
    assert 3 == len(spread([1.0, 1.02, 1.05]))
    assert 16 == len(spread([1.0, 50.0]))


RATES = {
    "none settled": (0, 0, None),
    "none passed": (0, 4, 0.0),
    "some": (1, 4, 0.25),
    "all": (4, 4, 1.0),
}


@pytest.mark.parametrize(("passed", "settled", "rate"), RATES.values(), ids=RATES)
def test_a_pass_rate_is_of_what_is_settled(passed, settled, rate):
    assert rate == pass_rate(passed, settled)


SCORES = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
LOW, HIGH = [True] * 5 + [False] * 5, [False] * 5 + [True] * 5
TOLD = {
    "the better half passes": (HIGH, SCORES, 0.8704),
    "the worse half passes": (LOW, SCORES, -0.8704),
    "every second passes": ([True, False] * 5, SCORES, -0.1741),
    "passing is all there is": (HIGH, [0.0] * 5 + [1.0] * 5, 1.0),
    "four passed": ([False] * 6 + [True] * 4, SCORES, None),
    "four failed": ([True] * 6 + [False] * 4, SCORES, None),
    "all others the same": (HIGH, [0.5] * 10, None),
    "nobody": ([], [], None),
}


@pytest.mark.parametrize(("passed", "rest", "told"), TOLD.values(), ids=TOLD)
def test_passing_is_correlated_with_the_rest(passed, rest, told):
    found = point_biserial(passed, rest)

    assert told == (None if found is None else round(found, 4))


def test_it_is_the_correlation_of_pearson():
    passed = [i % 3 == 0 or i > 15 for i in range(30)]
    rest = [math.sin(i) + i / 20 for i in range(30)]

    assert point_biserial(passed, rest) == pytest.approx(
        statistics.correlation([float(yes) for yes in passed], rest)
    )


REMARKS = {
    "well": (0.3, 60, ""),
    "just well enough": (0.1, 60, ""),
    "nothing": (0.05, 60, "who passes it does no better elsewhere"),
    "the wrong way": (-0.05, 60, "who passes it does worse elsewhere"),
    "by chance": (-0.5, 19, ""),
    "unknown": (None, 60, ""),
}


@pytest.mark.parametrize(("correlation", "settled", "words"), REMARKS.values(), ids=REMARKS)
def test_an_odd_check_is_remarked_on(correlation, settled, words):
    assert words == remark(correlation, settled)


PLACES = {
    "nobody": ([], []),
    "apart": ([(1.0, 1.1), (2.0, 2.1), (3.0, 3.1)], [3, 2, 1]),
    "all overlap": ([(1.0, 2.0), (1.5, 2.5), (1.9, 3.0)], [1, 1, 1]),
    "ends that touch": ([(1.0, 2.0), (2.0, 3.0)], [1, 1]),
    "two tie behind one": ([(3.0, 3.1), (1.0, 2.0), (1.5, 2.5)], [1, 2, 2]),
    "a chain: only the ends are apart": ([(1.0, 2.0), (1.8, 3.0), (2.8, 4.0)], [2, 1, 1]),
    "a wide interval wins nothing": ([(1.0, 9.0), (2.0, 2.1), (1.0, 1.1)], [1, 1, 2]),
}


@pytest.mark.parametrize(("intervals", "expected"), PLACES.values(), ids=PLACES)
def test_only_an_interval_that_is_higher_throughout_takes_a_place(intervals, expected):
    assert expected == places(intervals)


def test_a_pseudonym_stays_with_its_key_and_is_another_with_another():
    names = [
        pseudonym(key, name) for key in (b"one", b"two") for name in ("ada", "Ada", "bo", "\ud800")
    ]

    assert "lafap-lanut" == pseudonym(b"key", "ada")
    assert len(set(names)) == 8
    assert all(len(name) == 11 for name in names)
