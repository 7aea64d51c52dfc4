"""The verdict on a speedup, from one log-ratio for each pair of processes: d = ln(t_baseline /
t_student).

    m   mean of the d after one value at each end was winsorised
    se  sd * n / (n - 2) / sqrt(n)
    L   ln(0.97 * bar)

What is far from the bar is decided after 3 pairs: PASS when all of them are above L by more than a
margin, FAIL when all are below it by as much and their median earns no share of the points. The
margin follows from the noise of the machine, and is a factor of 1.25 at the least. Everything else: PASS when
m - 2.8 se > L, FAIL when m + 2.8 se < L; looked at after 7 pairs and then after every 2 more. When
no more will come, the median decides if the pairs agree well enough (1.4826 * MAD < 8 %), else
nobody does. docs/measurements/decision-rule.md has the error rates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal, NamedTuple

from autograder.config import LOWEST_BAR

CLEAR_LOOK = 3
"""Pairs: enough where all of them are far from the bar."""
CLEAR = 1.25
"""As a factor: the least distance from the bar that is far."""
SURE = 3.0
"""Times the noise of a pair, at its upper bound: nearer to the bar than this is not far."""
FIRST_LOOK = 7
"""Pairs: of five, two or three that agree by chance look as sure as twenty."""
LOOK_EVERY = 2
"""Pairs."""
Z = 2.8
"""Standard errors: wide enough to look eleven times."""
MARGIN = 0.97
"""Of the bar."""
AGREEING = 0.08
"""Of the ratio, as 1.4826 * MAD: more scatter than this and a median is a guess."""
NO_CREDIT = 1.02
"""A ratio that is not proved to exceed this is no speedup."""
PLAIN = 1.3
"""As a factor: further from the bar than this, a few pairs of practice say enough."""
PLAIN_LOOK = 2
"""Pairs: so few."""

Decision = Literal["PASS", "FAIL", "INCONCLUSIVE", "GO ON"]


@dataclass(frozen=True)
class Ruling:
    """What the pairs taken so far say about one bar."""

    decision: Decision
    pairs: int
    ratio: float | None = None
    """The speedup; None when there is no pair."""
    low: float = 0.0
    high: float = 0.0
    """The interval that decides; of fewer pairs than FIRST_LOOK, the smallest and the largest."""
    credit: float = 0.0
    """Share of the points that is proved, in tenths."""

    def __str__(self) -> str:
        """Show the figures as students read them: 1.01x (0.98 to 1.04, 9 pairs)."""
        if self.ratio is None:
            return "no pair could be measured"
        count = "1 pair" if self.pairs == 1 else f"{self.pairs} pairs"
        return f"{self.ratio:.2f}x ({self.low:.2f} to {self.high:.2f}, {count})"


class Estimate(NamedTuple):
    """The winsorised mean of the log-ratios and its standard error."""

    m: float
    se: float


def estimate(pairs: Sequence[float]) -> Estimate:
    """Winsorise one value at each end, then take the mean.

    n / (n - 2) makes up for the two that were moved.
    """
    n = len(pairs)
    d = sorted(pairs)
    d[0] = d[1]
    d[-1] = d[-2]
    m = math.fsum(d) / n
    sd = math.sqrt(math.fsum((x - m) ** 2 for x in d) / (n - 1))
    return Estimate(m, sd * n / (n - 2) / math.sqrt(n))


def far(noise: float) -> float:
    """Return how far from the bar, in log-ratio, is far on a machine where a pair has at most this noise."""
    return max(math.log(CLEAR), SURE * noise)


def rule(
    pairs: Sequence[float], bar: float, *, last: bool = False, margin: float = math.inf
) -> Ruling:
    """Judge the log-ratios against a bar; *last* says that no more will come.

    What is further from the bar than the *margin* is decided by few pairs; without one, nothing is.
    """
    assert bar >= LOWEST_BAR, f"a speed bar of {bar:g} is below {LOWEST_BAR:g}"
    n = len(pairs)
    line = math.log(MARGIN * bar)
    if n < FIRST_LOOK:
        clear = _clear(pairs, bar, margin) if n == CLEAR_LOOK else "GO ON"
        return _of_few(pairs, "INCONCLUSIVE" if last and clear == "GO ON" else clear)
    m, se = estimate(pairs)
    low = m - Z * se
    high = m + Z * se
    decision: Decision = "GO ON"
    if last or (n - FIRST_LOOK) % LOOK_EVERY == 0:
        decision = _by_interval(low, high, line)
    if last and decision == "GO ON":
        decision = by_median(pairs, line)
        m = median(pairs)
    credit = 1.0 if decision == "PASS" else partial_credit(math.exp(low), bar)
    return Ruling(decision, n, math.exp(m), math.exp(low), math.exp(high), credit)


def _clear(pairs: Sequence[float], bar: float, margin: float) -> Decision:
    """Judge what is far from the bar; who may have earned a share of the points gets more pairs."""
    line = math.log(MARGIN * bar)
    if min(pairs) > line + margin:
        return "PASS"
    unpaid = partial_credit(math.exp(median(pairs)), bar) == 0.0
    return "FAIL" if max(pairs) < line - margin and unpaid else "GO ON"


def _by_interval(low: float, high: float, line: float) -> Decision:
    if low > line:
        return "PASS"
    return "FAIL" if high < line else "GO ON"


def by_median(pairs: Sequence[float], line: float) -> Decision:
    """Judge what the interval could not, if the pairs agree well enough."""
    middle = median(pairs)
    scatter = 1.4826 * median(abs(x - middle) for x in pairs)
    if scatter >= AGREEING:
        return "INCONCLUSIVE"
    return "PASS" if middle >= line else "FAIL"


def partial_credit(low: float, bar: float) -> float:
    """Pay what is proved of the way from 1 to 0.97 * bar, in log-ratio, rounded down to tenths."""
    if low <= NO_CREDIT:
        return 0.0
    share = math.log(low) / math.log(MARGIN * bar)
    return math.floor(min(share, 1.0) * 10 + 1e-9) / 10  # 0.3 / 0.1 is 2.9999999999999996


def may_go_on(pooled: Sequence[float], bar: float, margin: float = math.inf) -> bool:
    """Whether pairs may be added to those of the same bytes on the same device.

    Not once they were judged.
    """
    return rule(pooled, bar, last=True, margin=margin).decision == "INCONCLUSIVE"


def practice(pairs: Sequence[float], bar: float) -> str:
    """Tell a student how a short run looks.

    Too short for a verdict, so it never says PASS.
    """
    ruling = rule(pairs, bar, last=True)
    reached = ruling.ratio is not None and ruling.ratio >= MARGIN * bar
    return f"{'on course' if reached else 'not yet'}: {ruling}; the bar is {bar:.2f}x"


def is_plain(pairs: Sequence[float], bar: float) -> bool:
    """Whether pairs of practice are all far from the bar, on one side of it."""
    line = math.log(MARGIN * bar)
    far_off = math.log(PLAIN)
    enough = len(pairs) >= PLAIN_LOOK
    return enough and (min(pairs) > line + far_off or max(pairs) < line - far_off)


def _of_few(pairs: Sequence[float], decision: Decision) -> Ruling:
    if not pairs:
        return Ruling(decision, 0)
    ends = math.exp(min(pairs)), math.exp(max(pairs))
    credit = 1.0 if decision == "PASS" else 0.0
    return Ruling(decision, len(pairs), math.exp(median(pairs)), *ends, credit)
