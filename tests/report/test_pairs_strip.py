"""A strip shows each pair, the interval and the bar, in the order of their speedups."""

from __future__ import annotations

import math

import pytest

from autograder.report.pairs_strip import line, strip


def evidence(ratios, interval, bar):
    return {"pairs": [math.log(ratio) for ratio in ratios], "interval": interval, "bar": bar}


STRIPS = {
    "short of the bar": (
        ([1.0, 1.01, 1.02, 1.03, 1.0], [0.98, 1.04], 1.5),
        "0.96 .[.3oo........................|. 1.54",
    ),
    "past it": (
        ([2.0, 2.1, 2.2, 2.3, 2.4], [2.02, 2.38], 1.5),
        "1.46 .|.................o..o.o..o.]o. 2.47",
    ),
    "many at one place": (
        ([1.2] * 12, [1.2, 1.2], 1.2),
        "1.20 ...............|................ 1.20",
    ),
    "spread over it": (
        ([0.5, 1.0, 2.0, 4.0, 8.0], [0.8, 5.0], 2.0),
        "0.42 .o....[.o.......|......o.]....o. 9.45",
    ),
}


@pytest.mark.parametrize(("seen", "words"), STRIPS.values(), ids=STRIPS)
def test_a_strip_reads_from_slow_to_fast(seen, words):
    """o is one pair, a digit so many; the brackets are the interval that decides, the line is the bar."""
    assert words == line(strip(evidence(*seen)), columns=32)


@pytest.mark.parametrize(
    "seen", [{}, {"pairs": []}, {"pairs": [0.1], "interval": [1, 2]}], ids=repr
)
def test_what_was_not_timed_has_no_strip(seen):
    """Most checks."""
    assert strip(seen) is None
