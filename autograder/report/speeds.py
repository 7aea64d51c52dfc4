"""Who was measured how fast: each timed check of a class, with places that overlapping intervals share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from autograder.model import CheckResult
from autograder.report import stats
from autograder.report.pairs import strip
from autograder.report.tally import Row

DECIDED = ("passed", "partial", "failed")
RANKED = ("passed", "partial")


@dataclass(frozen=True)
class Entry:
    """One speedup and its place."""

    row: Row
    ratio: float
    low: float
    high: float
    place: int = 0


@dataclass(frozen=True)
class Speeds:
    """All that was measured for one check on one kind of device."""

    check: str
    title: str
    device: str
    bar: float
    ratios: tuple[float, ...]
    """Of everybody."""
    board: tuple[Entry, ...]
    """Those who earned points and did not opt out, fastest first."""

    def at(self, ratio: float) -> float:
        """Say where between the ends of the board a speedup lies, in percent."""
        low, high = min(e.low for e in self.board), max(e.high for e in self.board)
        return 100 * math.log(ratio / low) / max(math.log(high / low), 1e-9)


def speeds(rows: Sequence[Row]) -> list[Speeds]:
    """Gather what the clock decided, check by check."""
    by_check: dict[tuple[str, str], list[tuple[CheckResult, Entry]]] = {}
    for row in rows:
        for part in row.result.parts:
            for check in part.checks:
                if check.outcome in DECIDED and (measured := _measured(row, check)):
                    key = (f"{part.id}.{check.id}", row.result.device.name)
                    by_check.setdefault(key, []).append((check, measured))
    return [_speeds(name, device, measured) for (name, device), measured in by_check.items()]


def _measured(row: Row, check: CheckResult) -> Entry | None:
    drawn = strip(check.evidence)
    return Entry(row, math.sqrt(drawn.low * drawn.high), drawn.low, drawn.high) if drawn else None


def _speeds(name: str, device: str, every: Sequence[tuple[CheckResult, Entry]]) -> Speeds:
    check = every[0][0]
    board = [entry for check, entry in every if check.outcome in RANKED and entry.row.ranked]
    placed = zip(board, stats.places([(entry.low, entry.high) for entry in board]), strict=True)
    ranked = [
        Entry(entry.row, entry.ratio, entry.low, entry.high, place) for entry, place in placed
    ]
    ranked.sort(key=lambda entry: (entry.place, -entry.ratio, entry.row.name))
    return Speeds(
        name,
        check.title,
        device,
        check.evidence["bar"],
        tuple(entry.ratio for _, entry in every),
        tuple(ranked),
    )
