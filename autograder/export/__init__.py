"""Results as other systems read them: a file for each system, and here what all of them hold to.

What is owed is no grade, so it is handed on only when asked for; who cannot be told apart is named and left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence

from autograder.errors import UserError
from autograder.model import CheckResult
from autograder.overrides import by_hand
from autograder.report.words import clean, explained, points
from autograder.standing import Standing

MOST_NAMES = 8  # in one line


def settled(standings: Sequence[Standing], *, provisional: bool) -> Sequence[Standing]:
    """Refuse points that are not settled, unless told that the grades are provisional."""
    open_ = [f"{one.result.submission} {points(one.result.points_owed)}" for one in standings if one.result.points_owed]
    if open_ and not provisional:
        raise UserError(f"points are still owed: {_names(open_)}; settle them, or export with --provisional")
    unclear = [f"{one.result.submission} {one.unclear}" for one in standings if one.unclear]
    if unclear and not provisional:
        raise UserError(f"{_names(unclear)}; fill in handed_in.csv, or export with --provisional")
    return standings


def in_class(
    standings: Sequence[Standing], key: Callable[[Standing], str], named: str
) -> tuple[list[Standing], list[str]]:
    """Tell who can go into another system's table, by a key that it knows; one row a student."""
    rows = [one for one in standings if one.listed and key(one)]
    notes = [
        f"{one.result.submission} is left out: {f'has no {named}' if one.listed else 'is not'} in the roster"
        for one in standings
        if one not in rows
    ]
    for student, count in Counter(one.student.student for one in rows).items():
        if count > 1:
            raise UserError(f"{student} has {count} results; leave the one that counts in the folder")
    return rows, notes


def without_result(standings: Sequence[Standing], students: Collection[str]) -> list[str]:
    """Name who is in the roster and handed nothing in; they get no zero here."""
    missing = sorted(set(students) - {one.student.student for one in standings})
    return [f"without a result: {', '.join(missing)}"] if missing else []


def told(check: CheckResult) -> str:
    """Say what a check says in plain lines, for systems that show text."""
    return "\n".join(f"{label:<9} {clean(text)}" for label, text in _said(check) if text)


def _said(check: CheckResult) -> Iterator[tuple[str, str]]:
    yield from (("measured", check.measured), ("why", check.why), ("try", check.try_))
    yield "reason", explained(check.outcome, check.reason)
    yield "by hand", by_hand(check)


def _names(texts: Sequence[str]) -> str:
    more = len(texts) - MOST_NAMES
    return ", ".join(texts[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
