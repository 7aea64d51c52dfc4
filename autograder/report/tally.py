"""What the pages count: how a class fared at each check, what is owed and for what it waits, how scores spread."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from autograder.model import CheckResult, Outcome, PartResult, Result, SettledBy
    from autograder.scoring import Late

BINS = 10  # of the histogram, each a tenth of the full score


@dataclass(frozen=True)
class Row:
    """A submission and the folder that holds its page."""

    result: Result
    folder: str
    late: Late | None = None

    @property
    def final(self) -> float:
        """The score after lateness."""
        return round(self.result.score - (self.late.points if self.late else 0), 2)

    @property
    def parts(self) -> Mapping[str, PartResult]:
        """The parts by id: not every submission need have every part."""
        return {part.id: part for part in self.result.parts}

    @property
    def failed(self) -> int:
        """Checks that failed."""
        return sum(check.outcome == "failed" for _, check in _checks(self.result))

    @property
    def faults(self) -> int:
        """Checks that we could not run."""
        return sum(check.outcome == "error" for _, check in _checks(self.result))


@dataclass(frozen=True)
class Rate:
    """How a class fared at one check."""

    check: str
    title: str
    basis: str
    counts: Mapping[Outcome, int]

    @property
    def owed(self) -> int:
        """Submissions whose points wait; a fault of ours is counted on its own."""
        return self.counts["unavailable"] + self.counts["inconclusive"]

    @property
    def passing(self) -> float | None:
        """The share that passed among those that are settled."""
        settled = sum(self.counts[outcome] for outcome in ("passed", "partial", "failed", "skipped"))
        return self.counts["passed"] / settled if settled else None


@dataclass(frozen=True)
class Waiting:
    """Points that wait for the same thing, and whose they are."""

    check: str
    settled_by: SettledBy
    outcome: Outcome
    reason: str
    points: float
    rows: tuple[Row, ...]


def rates(rows: Sequence[Row]) -> list[Rate]:
    """Count outcomes by check, the check that fails most often first."""
    counts: dict[str, Counter[Outcome]] = {}
    checks: dict[str, CheckResult] = {}
    for row in rows:
        for name, check in _checks(row.result):
            counts.setdefault(name, Counter())[check.outcome] += 1
            checks.setdefault(name, check)
    found = [Rate(name, checks[name].title, checks[name].basis, seen) for name, seen in counts.items()]
    return sorted(found, key=lambda rate: [-rate.counts[outcome] for outcome in ("failed", "partial", "skipped")])


def waiting(rows: Sequence[Row]) -> list[Waiting]:
    """Gather what is owed by what it waits for, faults of ours first."""
    groups: dict[tuple[str, SettledBy, Outcome, str], list[tuple[float, Row]]] = {}
    for row in rows:
        checks = dict(_checks(row.result))
        for owed in row.result.owed:
            check = checks.get(owed.check)
            outcome, reason = (check.outcome, check.reason) if check else ("unavailable", "")
            groups.setdefault((owed.check, owed.settled_by, outcome, reason), []).append((owed.points, row))
    found = [Waiting(*key, sum(p for p, _ in owing), tuple(row for _, row in owing)) for key, owing in groups.items()]
    return sorted(found, key=lambda item: item.outcome != "error")


def histogram(results: Sequence[Result]) -> list[int]:
    """Count results by tenths of the full score; the full score falls into the last."""
    shares = [result.score / result.max_score if result.max_score else 0.0 for result in results]
    bins = Counter(min(int(share * BINS), BINS - 1) for share in shares)
    return [bins[i] for i in range(BINS)]


def _checks(result: Result) -> Iterator[tuple[str, CheckResult]]:
    """Every check under the name by which points are owed."""
    return ((f"{part.id}.{check.id}", check) for part in result.parts for check in part.checks)
