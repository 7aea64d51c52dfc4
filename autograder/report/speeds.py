"""Who was measured how fast: each timed check of a class, with places that overlapping intervals share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from autograder.model import CheckResult
from autograder.report import stats
from autograder.report.pairs_strip import strip
from autograder.report.tally import Row

DECIDED = ("passed", "partial", "failed")
RANKED = ("passed", "partial")
AHEAD = 3  # of those who are faster are named


@dataclass(frozen=True)
class Entry:
    """One speedup and its place."""

    row: Row
    ratio: float
    low: float
    high: float
    place: int = 0


@dataclass(frozen=True)
class Place:
    """One student's own place at one check, and who is just ahead."""

    place: int
    many: int
    ahead: tuple[Entry, ...]

    def __str__(self) -> str:
        """Say it in a line."""
        place = f"Place {self.place} of {self.many} on the leaderboard"
        if not self.ahead:
            return f"{place}: nobody is measurably faster."
        names = ", ".join(f"{it.row.public or it.row.name} {it.ratio:.2f}x" for it in self.ahead)
        return f"{place}; just ahead: {names}."


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

    def place_of(self, student: str) -> Place | None:
        """Say where a student stands; nothing for who is not there."""
        own = next((entry for entry in self.board if entry.row.student == student), None)
        if own is None:
            return None
        ahead = [entry for entry in self.board if entry.place < own.place]
        return Place(own.place, len(self.board), tuple(ahead[-AHEAD:]))

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


def _best(entries: Sequence[Entry]) -> list[Entry]:
    """Keep the fastest attempt of each student."""
    best: dict[str, Entry] = {}
    for entry in entries:
        student = entry.row.student or entry.row.name
        if student not in best or entry.ratio > best[student].ratio:
            best[student] = entry
    return list(best.values())


def places(boards: Sequence[Speeds], student: str, device: str) -> dict[str, Place]:
    """Return a student's own places, check by check, among those measured on such a device."""
    own = {it.check: it.place_of(student) for it in boards if it.device == device}
    return {check: place for check, place in own.items() if place}


def _speeds(name: str, device: str, every: Sequence[tuple[CheckResult, Entry]]) -> Speeds:
    check = every[0][0]
    board = _best([it for check, it in every if check.outcome in RANKED and it.row.ranked])
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
