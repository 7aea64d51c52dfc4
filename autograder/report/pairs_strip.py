"""The pairs behind a verdict on a speedup, as a strip: one dot a pair, the interval that decides, and the bar.

pairs     0.98 .....o.[o8o]..........................|.. 1.61     terminal: o one pair, 2 to 9 so many, | the bar
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

COLUMNS = 48  # of a terminal
ROOM = 0.06  # of the width, left free at both ends


@dataclass(frozen=True)
class Strip:
    """Speedups on a logarithmic scale, from 0 at the left end to 1 at the right."""

    ratios: tuple[float, ...]
    low: float
    high: float
    bar: float
    start: float
    end: float

    def at(self, ratio: float) -> float:
        """Say where on the strip a speedup lies."""
        return math.log(ratio / self.start) / math.log(self.end / self.start)


def strip(evidence: Mapping[str, Any]) -> Strip | None:
    """Read what the clock noted about a check; nothing for a check that was not timed."""
    if not evidence.get("pairs") or "bar" not in evidence:
        return None
    ratios = tuple(math.exp(d) for d in evidence["pairs"])
    (low, high), bar = evidence["interval"], evidence["bar"]
    shown = [*ratios, low, high, bar]
    room = max(math.log(max(shown) / min(shown)), 0.02) * ROOM
    return Strip(ratios, low, high, bar, min(shown) * math.exp(-room), max(shown) * math.exp(room))


def line(strip: Strip, columns: int = COLUMNS) -> str:
    """Draw the strip in one line of text."""
    cells = ["."] * columns
    for mark, ratio in (("[", strip.low), ("]", strip.high), ("|", strip.bar)):
        cells[_column(strip, ratio, columns)] = mark
    counts: dict[int, int] = {}
    for ratio in strip.ratios:
        column = _column(strip, ratio, columns)
        counts[column] = counts.get(column, 0) + 1
    for column, count in counts.items():
        cells[column] = "o" if count == 1 else str(min(count, 9))
    cells[_column(strip, strip.bar, columns)] = "|"  # a dot on the bar is less than the bar
    return f"{strip.start:.2f} {''.join(cells)} {strip.end:.2f}"


def _column(strip: Strip, ratio: float, columns: int) -> int:
    return min(columns - 1, max(0, int(strip.at(ratio) * columns)))
