"""What the pages count: how a class fared at each check, what is owed and for what it waits, how long grading took."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from autograder.grading.evidence import NOT_RUN
from autograder.model import without_bonus
from autograder.report import stats
from autograder.results.agenda import is_aside, is_said_once
from autograder.results.overrides import by_hand, corrected

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from autograder.handed_in.late import Late
    from autograder.model import Cause, CheckResult, Outcome, Owed, PartResult, Result, SettledBy

    WaitsFor = tuple[str, SettledBy, Outcome, str, Cause]
    """The check, who settles it, and what its result says: what is owed for the same is counted together."""

SETTLED: tuple[Outcome, ...] = ("passed", "partial", "failed", "skipped")
SLOWEST = 5  # submissions that are named
NO_MISTAKE = ("", NOT_RUN)
"""Reasons of a failure without a mistake behind it: a person gave the points, or nothing ran."""


@dataclass(frozen=True)
class Row:
    """A submission, the folder that holds its page, and what it is called on this page."""

    result: Result
    folder: str
    late: Late | None = None
    pseudonym: str = ""
    """In place of the name, and then there is no way to the page either."""
    ranked: bool = True
    """Whether its speedups may stand on the leaderboard."""
    person: str = ""
    """What the student is called in the roster."""
    student: str = ""
    """Whose it is: of several attempts the fastest stands on the leaderboard."""
    public: str = ""
    """What others read on the leaderboard, where that is not the name of the page."""
    unclear: bool = False
    """Whether nobody can say yet what lateness takes."""

    @property
    def name(self) -> str:
        """What the page calls it."""
        return self.pseudonym or self.result.submission

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
        return sum(check.outcome == "failed" for check in self.result.checks.values())

    @property
    def faults(self) -> int:
        """Checks that we could not run."""
        return sum(check.outcome == "error" for check in self.result.checks.values())

    @property
    def aside(self) -> bool:
        """Whether it was set aside for a person."""
        return is_aside(self.result)

    @property
    def marks(self) -> str:
        """By what the table can be filtered, in one word each."""
        checks = self.result.checks.values()
        marks = {
            "lost": self.result.lost > 0,
            "owed": self.result.points_owed > 0,
            "undecided": any(check.outcome == "inconclusive" for check in checks),
            "fault": self.faults > 0,
            "hand": any(map(corrected, checks)),
            "late": self.late is not None,
            "person": bool(self.result.unread) or self.aside or self.unclear,
        }
        return " ".join(mark for mark, holds in marks.items() if holds)


@dataclass(frozen=True)
class Rate:
    """How a class fared at one check."""

    check: str
    title: str
    basis: str
    counts: Mapping[Outcome, int]
    discrimination: float | None = None
    """How passing goes with the score of all other checks: -1 to 1."""

    @property
    def owed(self) -> int:
        """Submissions whose points wait; a fault of ours is counted on its own."""
        return sum(self.counts[outcome] for outcome in ("unavailable", "inconclusive", "unread"))

    @property
    def passing(self) -> float | None:
        """The share that passed among those that are settled."""
        return stats.pass_rate(self.counts["passed"], self._settled)

    @property
    def remark(self) -> str:
        """What is odd about the check."""
        return stats.remark(self.discrimination, self._settled)

    @property
    def _settled(self) -> int:
        return sum(self.counts[outcome] for outcome in SETTLED)


@dataclass(frozen=True)
class Waiting:
    """Points that wait for the same thing, and whose they are."""

    check: str
    settled_by: SettledBy
    outcome: Outcome
    reason: str
    cause: Cause
    points: float
    rows: tuple[Row, ...]

    @property
    def said_once(self) -> bool:
        """Whether it is said once for the whole submission: that could not be read, or was set aside."""
        return is_said_once(self.outcome, self.cause)


def missing(rows: Sequence[Row]) -> list[str]:
    """Name the parts that nobody handed in: where nothing was won, and all that failed was not there."""
    checks_of: dict[str, list[CheckResult]] = {}
    for row in rows:
        for part in row.result.parts:
            checks_of.setdefault(part.id, []).extend(
                check for check in part.checks if check.basis != "person"
            )
    return [part for part, checks in checks_of.items() if checks and all(map(_is_missing, checks))]


def _is_missing(check: CheckResult) -> bool:
    return check.outcome in ("skipped", "unavailable") or (
        check.outcome == "failed" and check.cause == "missing"
    )


def rates(rows: Sequence[Row]) -> list[Rate]:
    """Count outcomes by check, the check that fails most often first, without what a person corrected."""
    by_check: dict[str, list[tuple[CheckResult, Result]]] = {}
    for row in rows:
        for name, check in row.result.checks.items():
            if not corrected(check):
                by_check.setdefault(name, []).append((check, row.result))
    rates = [
        Rate(
            name,
            every[0][0].title,
            every[0][0].basis,
            Counter(check.outcome for check, _ in every),
            _tells(every),
        )
        for name, every in by_check.items()
    ]
    return sorted(
        rates,
        key=lambda rate: [-rate.counts[outcome] for outcome in ("failed", "partial", "skipped")],
    )


def waiting(rows: Sequence[Row]) -> list[Waiting]:
    """Gather what is owed by what it waits for, faults of ours first."""
    groups: dict[WaitsFor, list[tuple[float, Row]]] = {}
    for row in rows:
        checks = row.result.checks
        for owed in row.result.owed:
            key = _waits_for(owed, checks.get(owed.check))
            groups.setdefault(key, []).append((owed.points, row))
    items = [
        Waiting(*key, sum(p for p, _ in owing), tuple(row for _, row in owing))
        for key, owing in groups.items()
    ]
    return sorted(items, key=lambda item: item.outcome != "error")


def _waits_for(owed: Owed, check: CheckResult | None) -> WaitsFor:
    if check is None:
        return owed.check, owed.settled_by, "unavailable", "", ""
    return owed.check, owed.settled_by, check.outcome, check.reason, check.cause


@dataclass(frozen=True)
class Lost:
    """Points that were lost for one and the same reason."""

    points: float
    checks: tuple[str, ...]
    measured: str
    why: str


def lost(result: Result) -> list[Lost]:
    """Gather what was lost by its reason, the most points first; one mistake that fails ten checks is told once."""
    groups: dict[tuple[str, str, str], list[tuple[str, float]]] = {}
    for part in without_bonus(result.parts):
        for check in part.checks:
            if check.outcome in ("failed", "partial", "skipped"):
                reason = by_hand(check) or check.reason
                measured, why = (check.measured, check.why) if check.why else ("", reason)
                name = f"{part.id}.{check.id}"
                key = (part.id if why else name, measured, why)
                groups.setdefault(key, []).append((name, check.max_points - check.points))
    items = [
        Lost(sum(p for _, p in of), tuple(name for name, _ in of), *key[1:])
        for key, of in groups.items()
    ]
    return sorted(items, key=lambda item: -item.points)


@dataclass(frozen=True)
class Mistake:
    """One check that several students failed for the same likely cause."""

    check: str
    why: str
    rows: tuple[Row, ...]


def mistakes(rows: Sequence[Row]) -> list[Mistake]:
    """Group students by what went wrong, the largest group first; alone, a mistake makes no group."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        for name, check in row.result.checks.items():
            mistaken = check.outcome in ("failed", "partial") and check.cause != "missing"
            if mistaken and check.why not in NO_MISTAKE and not corrected(check):
                groups.setdefault((name, check.why), []).append(row)
    together = [Mistake(*key, tuple(some)) for key, some in groups.items() if len(some) > 1]
    return sorted(together, key=lambda mistake: (-len(mistake.rows), mistake.check))


@dataclass(frozen=True)
class Spent:
    """How long grading took, in seconds of the grader's."""

    total: float
    median: float
    slowest: tuple[Row, ...]
    where: Mapping[str, int]
    """Device and fence -> submissions."""


def spent(rows: Sequence[Row]) -> Spent:
    """Add up how long grading took, and name those that took longest."""
    seconds = [row.result.seconds for row in rows]
    slowest = sorted(rows, key=lambda row: -row.result.seconds)[:SLOWEST]
    where = Counter(f"{row.result.device.name}, isolation {row.result.isolation}" for row in rows)
    return Spent(sum(seconds), median(seconds), tuple(slowest), where)


def shares(rows: Sequence[Row]) -> list[float]:
    """Return each score as a share of the full one."""
    return [
        row.result.score / row.result.max_score if row.result.max_score else 0.0 for row in rows
    ]


def _tells(every: Sequence[tuple[CheckResult, Result]]) -> float | None:
    """Correlate passing a check with what else was scored of what else is settled."""
    passed, rest = [], []
    for check, result in every:
        others = result.max_score - result.points_owed - check.max_points
        if check.outcome in SETTLED and others > 0:
            passed.append(check.outcome == "passed")
            rest.append((result.score - check.points) / others)
    return stats.point_biserial(passed, rest)
