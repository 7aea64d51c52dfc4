"""What a person has to do next for a class: what no machine could read, date or settle, and whose it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from autograder.grading.scoring import worth
from autograder.grading.unread import OTHER_NAMES
from autograder.model import Cause, CheckResult, Outcome, Owed, Result
from autograder.results import overrides
from autograder.results.requests import Request
from autograder.results.standing import Standing

MOST_NAMES = 8  # in one line
ELSEWHERE = "into another --out, then perflab settle {folder} OTHER"
BY_HAND = "or set points: perflab override {folder}/NAME CHECK POINTS --reason WHY"
Waits = Literal["read", "fault", "untold", "gpu", "again"]
OWED: dict[Waits, tuple[str, str]] = {
    "read": ("Points that a person gives", "perflab rubric {folder} --out rubric.csv"),
    "fault": (
        "Faults of perflab",
        f"mend the code that the page names, and run perflab grade again; {BY_HAND}",
    ),
    "untold": (
        "Points that no try decided",
        f"grade these on a quiet machine {ELSEWHERE}; {BY_HAND}",
    ),
    "gpu": (
        "Points that this device cannot decide",
        (
            "grade on another one (docs/gpu.md), then perflab settle {folder} OTHER; "
            "or turn their checks off (docs/instructors.md)"
        ),
    ),
    "again": (
        "Points that are still undecided",
        "close what else runs on that machine, and run perflab grade once more",
    ),
}


NAMED = ("fault", "untold")
"""Of these each check is named."""


@dataclass(frozen=True)
class Item:
    """A submission, and what is to be known of it."""

    submission: str
    folder: str
    said: str

    def __str__(self) -> str:
        """Say it in a few words."""
        return f"{self.submission} ({self.said})" if self.said else self.submission


@dataclass(frozen=True)
class Task:
    """One thing to do, and for whom."""

    what: str
    mend: str
    items: tuple[Item, ...]
    usual: bool = False
    """Most of a class may wait for it: then they are counted in a line, and not named."""

    def __str__(self) -> str:
        """Say it in a line."""
        many = f"{len(self.items)} submission{'' if len(self.items) == 1 else 's'}"
        return f"{self.what}: {many if self.usual else listed(list(map(str, self.items)))}; {self.mend}"


def tasks(standings: Sequence[Standing], folder: str) -> list[Task]:
    """List what is to be done, the most urgent first; *folder* is how the results are called there."""
    again = (
        "ask for a file in place of this one and grade it, or set points: "
        f"perflab override {folder}/NAME '*' 0 --reason WHY"
    )
    dated = f"fill in the time in {folder}/handed_in.csv, then perflab report {folder}"
    anew = (
        "see whether they hold for the new files, and set them again, or drop them (POINTS is 'graded' then): "
        f"perflab override {folder}/NAME CHECK POINTS --reason WHY"
    )
    rated = f"set them again, or take them back: perflab override {folder}/NAME CHECK POINTS --reason WHY"
    alone = (
        f"look at the files, and grade each alone, best on another machine, "
        f"{ELSEWHERE.format(folder=folder)}; or set points: perflab override {folder}/NAME '*' 0 --reason WHY"
    )
    died = "its grader died each time"
    renamed = (
        "look whether it is that file; if so, rename it in what was handed in and run perflab grade "
        "once more"
    )
    tasks = [
        Task(
            "Could not be read",
            again,
            _items(standings, [", ".join(standing.result.unread) for standing in standings]),
        ),
        Task(
            "Late, and nobody knows when it came",
            dated,
            _items(standings, [standing.unclear for standing in standings]),
        ),
        Task(
            "Set aside",
            alone,
            _items(standings, [died * is_aside(standing.result) for standing in standings]),
        ),
        Task(
            "A part's file may be there under another name",
            renamed,
            _items(standings, [_other_names(standing.result) for standing in standings]),
        ),
        Task(
            "Points that were set by hand for earlier files, and do not count for these",
            anew,
            _items(standings, [", ".join(_set_before(standing)) for standing in standings]),
        ),
        Task(
            "Points that were set by hand when the check was worth something else",
            rated,
            _items(standings, [_set_for_others(standing.result) for standing in standings]),
        ),
    ]
    for who, (what, mend) in OWED.items():
        owing = [_owed(standing.result, who) for standing in standings]
        items, usual = _items(standings, owing), who not in NAMED
        tasks.append(Task(what, mend.format(folder=folder), items, usual=usual))
    return [task for task in tasks if task.items]


def asked(requests: Sequence[Request], folder: str) -> list[Task]:
    """List whose request for a second look has no answer yet."""
    items = [
        Item(request.submission, request.home.name, request.check or request.asked)
        for request in requests
        if not request.answer
    ]
    mend = f"perflab requests {folder} --replay"
    return [Task("Second looks asked for", mend, tuple(items))] if items else []


def is_aside(result: Result) -> bool:
    """Whether a submission took down its grader time and again, and nobody has set any points since."""
    checks = result.checks.values()
    return any(check.cause == "aside" for check in checks) and not any(
        map(overrides.corrected, checks)
    )


def is_judged(result: Result) -> bool:
    """Whether anything that was handed in could be read."""
    return any(check.outcome != "unread" for check in result.checks.values())


def is_said_once(outcome: Outcome, cause: Cause) -> bool:
    """Whether a check waits for what is said once of its whole submission: it could not be read, or is set aside."""
    return outcome == "unread" or cause == "aside"


def listed(texts: Sequence[str]) -> str:
    """Name some in one line, and count the others."""
    more = len(texts) - MOST_NAMES
    return ", ".join(texts[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def _items(standings: Sequence[Standing], said: Sequence[str]) -> tuple[Item, ...]:
    pairs = zip(standings, said, strict=True)
    return tuple(
        Item(standing.result.submission, standing.home.name, words)
        for standing, words in pairs
        if words
    )


def _other_names(result: Result) -> str:
    names = [
        f"{check.measured}: {check.evidence[OTHER_NAMES]}"
        for check in result.checks.values()
        if OTHER_NAMES in check.evidence and not overrides.by_hand(check)
    ]
    return "; ".join(dict.fromkeys(names))


def _set_before(standing: Standing) -> list[str]:
    return overrides.for_other_files(standing.result, overrides.read(standing.home))


def _set_for_others(result: Result) -> str:
    names = [name for name, check in result.checks.items() if overrides.set_when_worth(check)]
    return ", ".join(names)


def _owed(result: Result, who: Waits) -> str:
    """Add up what waits for this and for nothing that is a task of its own; name what only a decision can end."""
    checks, aside = result.checks, is_aside(result)
    waiting = [
        owed for owed in result.owed if _waits_for(owed, checks.get(owed.check), aside=aside) == who
    ]
    if who in NAMED:
        return ", ".join(owed.check for owed in waiting)
    return worth(sum(owed.points for owed in waiting)) if waiting else ""


def _waits_for(owed: Owed, check: CheckResult | None, *, aside: bool) -> Waits | None:
    """Part what a person reads from what no machine could decide; None where the whole submission waits."""
    if check and (check.outcome == "unread" or (aside and check.cause == "aside")):
        return None
    if owed.settled_by != "person":
        return owed.settled_by
    if check is None or check.basis == "person":
        return "read"
    return "fault" if check.outcome == "error" and check.cause != "aside" else "untold"
