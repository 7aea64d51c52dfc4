"""Results as other systems read them: a file for each system, and here what all of them hold to.

What is owed is no grade, so it is handed on only when asked for; who cannot be told apart is
named and left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from autograder.errors import UserError
from autograder.model import CheckResult
from autograder.report.outcome_words import clean, explained, points
from autograder.results.agenda import listed
from autograder.results.overrides import by_hand
from autograder.results.standing import Standing


def settled(standings: Sequence[Standing], *, provisional: bool) -> Sequence[Standing]:
    """Refuse what is not settled, all of it in one line, unless told that the grades are
    provisional.
    """
    unread = [standing.result.submission for standing in standings if standing.result.unread]
    unclear = [
        f"{standing.result.submission} {standing.unclear}"
        for standing in standings
        if standing.unclear
    ]
    owed = [
        f"{standing.result.submission} {points(standing.result.points_owed)}"
        for standing in standings
        if standing.result.points_owed
    ]
    problems = [
        *([f"could not be read: {listed(unread)}; ask for another file"] if unread else []),
        *([f"{listed(unclear)}; fill in handed_in.csv"] if unclear else []),
        *([f"points are still owed: {listed(owed)}; settle them"] if owed else []),
    ]
    if problems and not provisional:
        raise UserError(f"{'; '.join(problems)}, or export with --provisional")
    return standings


def in_class(
    standings: Sequence[Standing], key: Callable[[Standing], str], named: str
) -> tuple[list[Standing], list[str]]:
    """Tell who can go into another system's table, by a key that it knows.

    One row a student.
    """
    rows = [standing for standing in standings if standing.listed and key(standing)]
    notes = [
        f"{standing.result.submission} is left out: "
        f"{f'has no {named}' if standing.listed else 'is not'} in the roster"
        for standing in standings
        if standing not in rows
    ]
    for student, count in Counter(standing.student.student for standing in rows).items():
        if count > 1:
            raise UserError(
                f"{student} has {count} results; leave the one that counts in the folder"
            )
    return rows, notes


def message(check: CheckResult) -> str:
    """Say what a check says in plain lines, for systems that show text."""
    return "\n".join(f"{label:<9} {clean(text)}" for label, text in _said(check) if text)


def _said(check: CheckResult) -> Iterator[tuple[str, str]]:
    yield from (("measured", check.measured), ("why", check.why), ("try", check.try_))
    yield "reason", explained(check.outcome, check.reason)
    yield "by hand", by_hand(check)
