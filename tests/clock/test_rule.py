"""The decision rule: its formula on cases worked out by hand, when it stops, what it pays, what it says."""

from __future__ import annotations

import math

import pytest

from autograder.clock.rule import (
    Ruling,
    by_median,
    estimate,
    far,
    may_go_on,
    partial_credit,
    practice,
    rule,
)

LINE = math.log(0.97 * 1.5)  # 0.37501


def around(ratio: float, *offsets: float) -> list[float]:
    return [math.log(ratio) + offset for offset in offsets]


ESTIMATES = {
    # winsorised: 2 2 3 4 4; mean 3; sd 1; times 5/3 over sqrt(5)
    "five in a row": ([1, 2, 3, 4, 5], 3.0, 5 / 3 / math.sqrt(5)),
    "order does not matter": ([5, 1, 4, 2, 3], 3.0, 5 / 3 / math.sqrt(5)),
    "one outlier on each side costs nothing": ([-900, 2, 3, 4, 700], 3.0, 5 / 3 / math.sqrt(5)),
    # winsorised: 0 0 0 0 0 3 3; mean 6/7; squares 5 * (6/7)^2 + 2 * (15/7)^2 = 90/7; sd = sqrt(90/42); times 7/5 / sqrt(7)
    "two outliers on one side count": (
        [0, 0, 0, 0, 0, 3, 9],
        6 / 7,
        math.sqrt(90 / 42) * 7 / 5 / math.sqrt(7),
    ),
    "all the same": ([0.25] * 5, 0.25, 0.0),
}


@pytest.mark.parametrize(("pairs", "m", "se"), ESTIMATES.values(), ids=ESTIMATES)
def test_the_estimate_is_the_winsorised_mean_and_its_error(pairs, m, se):
    """m, and se = sd * n / (n - 2) / sqrt(n)."""
    before = list(pairs)

    assert (m, se) == pytest.approx(estimate(pairs))
    assert before == pairs


# Seven pairs at -3x, ..., 3x around a ratio: winsorised sd sqrt(3) x, se = sqrt(3) x * 7/5 / sqrt(7) = 0.916515 x,
# 2.8 se = 2.566243 x
WIDE, NARROW = [0.1 * i for i in range(-3, 4)], [0.01 * i for i in range(-3, 4)]
DECISIONS = {
    "no pair": ([], False, "GO ON"),
    "no pair and no time": ([], True, "INCONCLUSIVE"),
    "six clear pairs are too few": ([1.0] * 6, False, "GO ON"),
    "six clear pairs stay too few when time is over": ([1.0] * 6, True, "INCONCLUSIVE"),
    "seven clear pairs pass": (around(1.6, *NARROW), False, "PASS"),
    "seven clear pairs fail": (around(1.4, *NARROW), False, "FAIL"),
    "the margin is 3 % of the bar": (around(1.495, *NARROW), False, "PASS"),
    "just inside the interval goes on": ([LINE + 0.0256 + o for o in NARROW], False, "GO ON"),
    "just outside it passes": ([LINE + 0.0257 + o for o in NARROW], False, "PASS"),
    "just inside below goes on": ([LINE - 0.0256 + o for o in NARROW], False, "GO ON"),
    "just outside below fails": ([LINE - 0.0257 + o for o in NARROW], False, "FAIL"),
    "exactly on the line nobody is judged": ([LINE] * 7, False, "GO ON"),
    "eight pairs are not looked at": (around(1.6, *NARROW, 0.0), False, "GO ON"),
    "nine are": (around(1.6, *NARROW, 0.0, 0.0), False, "PASS"),
    "eight are looked at when no more will come": (around(1.6, *NARROW, 0.0), True, "PASS"),
    "at the end the median passes": (around(1.47, *NARROW), True, "PASS"),
    "at the end the median fails": (around(1.44, *NARROW), True, "FAIL"),
    "at the end a median on the line passes": ([LINE] * 7, True, "PASS"),
    "at the end scattered pairs are a guess": (around(1.5, *WIDE), True, "INCONCLUSIVE"),
    "scattered pairs far away are none": (around(3.0, *WIDE), True, "PASS"),
}


FAR = math.log(1.25)  # LINE + FAR is 1.81875x, LINE - FAR is 1.164x
CLEAR = {
    "three pairs far above": ((1.9, 1.85, 1.82), FAR, "PASS"),
    "one of them is not far": ((1.9, 1.85, 1.81), FAR, "GO ON"),
    "three without any speedup": ((1.0, 0.99, 1.03), FAR, "FAIL"),
    "one of them is not far below": ((1.0, 0.99, 1.17), FAR, "GO ON"),
    "far below, and too slow for a tenth of the points": ((1.1, 1.037, 1.0), FAR, "FAIL"),
    "far below, and perhaps with a share of the points": ((1.1, 1.039, 1.0), FAR, "GO ON"),
    "a noisy machine asks for more": ((1.9, 1.9, 1.9), math.log(1.4), "GO ON"),
    "an unexamined machine never is early": ((9.0, 9.0, 9.0), math.inf, "GO ON"),
    "two pairs are too few": ((9.0, 9.0), FAR, "GO ON"),
    "four are not looked at": ((9.0, 9.0, 9.0, 9.0), FAR, "GO ON"),
}


@pytest.mark.parametrize(("ratios", "margin", "expected"), CLEAR.values(), ids=CLEAR)
def test_what_is_far_from_the_bar_is_decided_after_three_pairs(ratios, margin, expected):
    """All of them on one side by more than the margin; with a share of the points at stake, never early."""
    ruling = rule([math.log(ratio) for ratio in ratios], 1.5, margin=margin)

    assert (expected, float(expected == "PASS")) == (ruling.decision, ruling.credit)
    assert (min(ratios), max(ratios)) == pytest.approx((ruling.low, ruling.high))


def test_what_was_decided_early_is_not_drawn_again():
    """As anything else that was judged; without time for more, three pairs near the bar decide nothing."""
    clear, near = [math.log(2)] * 3, [math.log(1.5)] * 3

    assert not may_go_on(clear, 1.5, FAR)
    assert may_go_on(near, 1.5, FAR)
    assert "INCONCLUSIVE" == rule(near, 1.5, last=True, margin=FAR).decision


def test_far_is_a_factor_of_a_quarter_or_three_times_the_noise():
    assert (math.log(1.25), 0.3) == pytest.approx((far(0.05), far(0.1)))


@pytest.mark.parametrize(("pairs", "last", "expected"), DECISIONS.values(), ids=DECISIONS)
def test_the_rule_decides_at_a_bar_of_one_and_a_half(pairs, last, expected):
    """PASS above the interval, FAIL below it, after 7 pairs and every 2; the median at the end."""
    assert expected == rule(pairs, 1.5, last=last).decision


def test_the_ruling_shows_what_decided():
    """The interval is m -+ 2.8 se as ratios, seven pairs around 2.00 by hundredths."""
    ruling = rule(around(2.0, *NARROW), 1.5)

    half = 2.8 * 0.01 * math.sqrt(3) * 7 / 5 / math.sqrt(7)
    assert (2.0, 2 * math.exp(-half), 2 * math.exp(half)) == pytest.approx(
        (ruling.ratio, ruling.low, ruling.high)
    )
    assert ("PASS", 7, 1.0) == (ruling.decision, ruling.pairs, ruling.credit)


def test_the_median_is_shown_where_it_decided():
    """A figure on the other side of the line than the verdict would be hard to explain."""
    pairs = [LINE + x for x in (-0.06, -0.05, -0.04, 0.001, 0.001, 0.002, 0.002)]
    ruling = rule(pairs, 1.5, last=True)

    assert estimate(pairs).m < LINE
    assert ("PASS", pytest.approx(math.exp(LINE + 0.001))) == (ruling.decision, ruling.ratio)


SCATTER = {
    "just agreeing": (0.0539, "PASS"),  # 1.4826 * 0.0539 = 0.07991
    "just not": (0.0540, "INCONCLUSIVE"),  # 0.08006
}


@pytest.mark.parametrize(("apart", "expected"), SCATTER.values(), ids=SCATTER)
def test_a_median_needs_pairs_that_agree_within_eight_percent(apart, expected):
    """1.4826 * MAD < 8 %."""
    assert expected == by_median([LINE - apart, LINE, LINE + apart], LINE)


CREDIT = {  # at a bar of 1.5: ln(0.97 * 1.5) = 0.37501
    "slower": (0.9, 0.0),
    "nothing proved": (1.0, 0.0),
    "two percent is no speedup": (1.02, 0.0),
    "2.1 % is under a tenth": (1.021, 0.0),
    "four percent is a tenth": (1.04, 0.1),
    "half the way": (math.exp(0.5 * LINE), 0.5),
    "just under half the way": (math.exp(0.4999 * LINE), 0.4),
    "floats do not take a tenth": (math.exp(0.3 * LINE), 0.3),
    "nearly all": (1.45, 0.9),
    "all": (0.97 * 1.5, 1.0),
    "more than all is all": (7.0, 1.0),
}


@pytest.mark.parametrize(("low", "expected"), CREDIT.values(), ids=CREDIT)
def test_credit_pays_what_is_proved_in_tenths(low, expected):
    """The lower end's share of the way to the bar, in log-ratio, rounded down; 0 up to 1.02."""
    assert expected == partial_credit(low, 1.5)


def test_a_failed_ruling_pays_its_lower_end():
    """Seven pairs at 1.30 by hundredths prove 1.27 of 1.455: ln 1.2671 / ln 1.455 = 0.63."""
    ruling = rule(around(1.3, *NARROW), 1.5)

    assert ("FAIL", 0.6) == (ruling.decision, ruling.credit)


def test_at_the_lowest_bar_luck_of_two_percent_pays_nothing():
    """Without the limit of 1.02 a baseline handed in would earn tenths at bar 1.10."""
    assert (0.0, 0.3) == (partial_credit(1.0199, 1.10), partial_credit(1.0201, 1.10))


@pytest.mark.parametrize("bar", [1.09, 1.0, 0.5])
def test_a_bar_below_the_lowest_is_refused(bar):
    """A bar that cannot be told from 1 must not reach the rule."""
    with pytest.raises(AssertionError, match=r"below 1\.1"):
        rule([0.0] * 5, bar)


POOLED = {
    "nothing yet": ([], True),
    "four pairs": ([0.0] * 4, True),
    "judged by the interval": (around(1.6, *NARROW), False),
    "judged by the median": (around(1.47, *NARROW), False),
    "inconclusive": (around(1.5, *WIDE), True),
}


@pytest.mark.parametrize(("pairs", "expected"), POOLED.values(), ids=POOLED)
def test_the_same_bytes_are_drawn_again_only_while_nobody_judged_them(pairs, expected):
    """Handing in the same bytes is no second chance."""
    assert expected == may_go_on(pairs, 1.5)


PRACTICE = {
    "clear": (
        around(1.6, *NARROW[1:-1]),
        "on course: 1.60x (1.57 to 1.63, 5 pairs); the bar is 1.50x",
    ),
    "within the margin": (
        around(1.46, *NARROW[1:-1]),
        "on course: 1.46x (1.43 to 1.49, 5 pairs); the bar is 1.50x",
    ),
    "below it": (
        around(1.45, *NARROW[1:-1]),
        "not yet: 1.45x (1.42 to 1.48, 5 pairs); the bar is 1.50x",
    ),
    "scattered": (
        around(1.5, *WIDE[1:-1]),
        "on course: 1.50x (1.23 to 1.83, 5 pairs); the bar is 1.50x",
    ),
    "three pairs": (
        around(2.0, -0.1, 0.0, 0.1),
        "on course: 2.00x (1.81 to 2.21, 3 pairs); the bar is 1.50x",
    ),
    "one pair": ([0.0], "not yet: 1.00x (1.00 to 1.00, 1 pair); the bar is 1.50x"),
    "no pair": ([], "not yet: no pair could be measured; the bar is 1.50x"),
}


@pytest.mark.parametrize(("pairs", "expected"), PRACTICE.values(), ids=PRACTICE)
def test_practice_speaks_of_a_course_and_never_passes(pairs, expected):
    """What a student reads after a short run: the median, and the range of so few."""
    assert expected == practice(pairs, 1.5)


def test_a_ruling_reads_as_figures():
    """Ratio, interval and number of pairs, to the hundredth."""
    assert "1.01x (0.98 to 1.04, 9 pairs)" == str(Ruling("FAIL", 9, 1.012, 0.981, 1.039))
