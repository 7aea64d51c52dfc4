"""The late policy: what handing in late takes from a score. Pure functions."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from autograder.config import LatePolicy


class Late(NamedTuple):
    """What handing in late takes: a line of its own beside the score, which stays."""

    by: timedelta
    share: float
    """Of the score, 0 to 1."""
    points: float

    def __str__(self) -> str:
        """Return one line: 1 day 3 h late, -20 %.

        Minutes are rounded up: just over a grace is not within it.
        """
        hours, minutes = divmod(math.ceil(self.by / timedelta(minutes=1)), 60)
        days, hours = divmod(hours, 24)
        parts = ((days, "day" if days == 1 else "days"), (hours, "h"), (minutes, "min"))
        by = " ".join(f"{count} {unit}" for count, unit in parts if count)
        return f"{by} late, -{100 * self.share:g} %"


def late_factor(
    policy: LatePolicy,
    due: datetime,
    handed_in: datetime,
    extension_hours: float = 0,
) -> float:
    """Return the share of the score that is kept.

    It is all within the grace, then less for each day begun since it was due.
    """
    late = _late_by(due, handed_in, extension_hours)
    if late <= timedelta(minutes=policy.grace_minutes):
        return 1.0
    days = math.ceil(late / timedelta(days=1))
    return round(1 - min(days * policy.per_day, policy.at_most), 6)


def late(
    policy: LatePolicy,
    due: datetime,
    handed_in: datetime,
    score: float,
    extension_hours: float = 0,
) -> Late | None:
    """Return what lateness takes from a score; nothing within the grace."""
    share = round(1 - late_factor(policy, due, handed_in, extension_hours), 6)
    if not share:
        return None
    by = _late_by(due, handed_in, extension_hours)
    return Late(by, share, round(share * score, 2))


def deadline(
    policy: LatePolicy | None,
    due: datetime,
    extension_hours: float = 0,
) -> datetime:
    """Return until when a submission is in time."""
    grace = policy.grace_minutes if policy else 0
    return due.astimezone(UTC) + timedelta(hours=extension_hours, minutes=grace)


def _late_by(due: datetime, handed_in: datetime, extension_hours: float) -> timedelta:
    # In UTC: two times of one zone are subtracted by their clocks,
    # and an hour of a changed clock would be lost.
    late = handed_in.astimezone(UTC) - due.astimezone(UTC)
    return late - timedelta(hours=extension_hours)
