"""What the pages compute of a class: plain functions of plain numbers."""

from __future__ import annotations

import hmac
import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from statistics import fmean, pstdev
from typing import NamedTuple

TENTHS = 10  # bins of scores, each a tenth of the full score
FEWEST = 5  # on each side: less, and who passed says nothing about a check
DULL = 0.1  # a correlation below it, and a check tells those who do well from the others hardly or wrongly
ENOUGH = 20  # results: with fewer, that happens by chance
CONSONANTS, VOWELS = "bdfghjklmnprstvz", "aiou"


class Bin(NamedTuple):
    """One bar of a distribution."""

    low: float
    high: float
    many: int


def tenths(shares: Sequence[float]) -> list[Bin]:
    """Count shares of the full score; the full score falls into the last bin.

    >>> [one.many for one in tenths([0.0, 0.95, 1.0])]
    [1, 0, 0, 0, 0, 0, 0, 0, 0, 2]
    """
    counts = Counter(min(int(share * TENTHS), TENTHS - 1) for share in shares)
    return [Bin(i / TENTHS, (i + 1) / TENTHS, counts[i]) for i in range(TENTHS)]


def spread(values: Sequence[float], *also: float, most: int = 16) -> list[Bin]:
    """Count positive values in bins of one ratio, at least 2 % wide; the bins reach what is *also* to be shown.

    >>> [tuple(round(part, 2) for part in one) for one in spread([1.0, 1.5], 4.0, most=2)]
    [(1.0, 2.0, 2), (2.0, 4.0, 0)]
    """
    if not values:
        return []
    low, width = min([*values, *also]), math.log(max([*values, *also]) / min([*values, *also]))
    bins = max(1, min(most, math.ceil(width / 0.02)))
    step = max(width, 0.02) / bins
    counts = Counter(min(int(math.log(value / low) / step), bins - 1) for value in values)
    return [
        Bin(low * math.exp(i * step), low * math.exp((i + 1) * step), counts[i])
        for i in range(bins)
    ]


def pass_rate(passed: int, settled: int) -> float | None:
    """Return the share that passed; nothing where nothing is settled."""
    return passed / settled if settled else None


def point_biserial(passed: Sequence[bool], rest: Sequence[float]) -> float | None:
    """Correlate passing a check with the score of all other checks: near 0 it tells nobody apart, below 0 it misleads.

    Nothing where too few passed or failed, or where all others scored the same.
    """
    won = [score for yes, score in zip(passed, rest, strict=True) if yes]
    lost = [score for yes, score in zip(passed, rest, strict=True) if not yes]
    if min(len(won), len(lost)) < FEWEST or (deviation := pstdev(rest)) < 1e-9:
        return None
    return (fmean(won) - fmean(lost)) / deviation * math.sqrt(len(won) * len(lost)) / len(rest)


def remark(correlation: float | None, settled: int) -> str:
    """Say what is odd about a check, if it is.

    >>> remark(-0.2, 60), remark(0.5, 60), remark(-0.2, 10)
    ('who passes it does worse elsewhere', '', '')
    """
    if correlation is None or settled < ENOUGH or correlation >= DULL:
        return ""
    how = "worse" if correlation < 0 else "no better"
    return f"who passes it does {how} elsewhere"


def places(intervals: Sequence[tuple[float, float]]) -> list[int]:
    """Place each behind those whose whole interval is higher; two that overlap are not placed by each other.

    >>> places([(2.0, 2.2), (1.9, 2.1), (1.0, 1.2)])
    [1, 1, 3]
    """
    lows = sorted(low for low, _ in intervals)
    return [1 + len(lows) - bisect_right(lows, high) for _, high in intervals]


def pseudonym(key: bytes, name: str) -> str:
    """Name somebody by a keyed hash, in two words that can be spoken; without the key nobody can tell who it is.

    >>> pseudonym(b"key", "ada")
    'lafap-lanut'
    """
    digest = hmac.digest(key, name.encode("utf-8", "surrogatepass"), "sha256")
    return f"{_spoken(digest[:2])}-{_spoken(digest[2:4])}"


def _spoken(two: bytes) -> str:
    """Write 16 bits as consonants and vowels in turn."""
    number = int.from_bytes(two, "big")
    parts = ((CONSONANTS, 12), (VOWELS, 10), (CONSONANTS, 6), (VOWELS, 4), (CONSONANTS, 0))
    return "".join(letters[(number >> shift) % len(letters)] for letters, shift in parts)
