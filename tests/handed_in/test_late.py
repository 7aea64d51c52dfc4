"""What handing in late takes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from autograder.config import LatePolicy
from autograder.handed_in import late as lateness

POLICY = LatePolicy(grace_minutes=10, per_day=0.1, at_most=0.5)


DUE = datetime(2027, 1, 20, 23, 59, tzinfo=timezone(timedelta(hours=5, minutes=30)))


LATE = {
    "a week early": (timedelta(days=-7), 0, 1.0),
    "on the minute": (timedelta(0), 0, 1.0),
    "at the end of the grace": (timedelta(minutes=10), 0, 1.0),
    "a second after the grace": (timedelta(minutes=10, seconds=1), 0, 0.9),
    "a whole day": (timedelta(days=1), 0, 0.9),
    "a day and a second": (timedelta(days=1, seconds=1), 0, 0.8),
    "three days": (timedelta(days=3), 0, 0.7),
    "five days": (timedelta(days=5), 0, 0.5),
    "a month costs no more than at_most": (timedelta(days=31), 0, 0.5),
    "within the extension": (timedelta(hours=48), 48, 1.0),
    "the grace comes after the extension": (timedelta(hours=48, minutes=10), 48, 1.0),
    "a day after the extension": (timedelta(hours=72), 48, 0.9),
}


@pytest.mark.parametrize(("late", "extension", "factor"), LATE.values(), ids=LATE)
def test_lateness_costs_a_share_for_each_day_begun(
    late: timedelta, extension: float, factor: float
):
    assert factor == lateness.late_factor(POLICY, DUE, DUE + late, extension)


def test_two_offsets_are_compared_as_moments():
    assert lateness.late_factor(POLICY, DUE, datetime(2027, 1, 20, 18, 29, tzinfo=UTC)) == 1.0


BERLIN = ZoneInfo("Europe/Berlin")


HALF = LatePolicy(grace_minutes=0, per_day=0.1, at_most=0.5)


def berlin(month: int, day: int, hour: int, minute: int, fold: int = 0) -> datetime:
    return datetime(2027, month, day, hour, minute, fold=fold, tzinfo=BERLIN)


CLOCKS = {  # due, handed in: clocks go forward on 2027-03-28 at 2:00, back on 2027-10-31 at 3:00
    "a day of 23 hours is less than a day": (berlin(3, 27, 23, 59), berlin(3, 28, 23, 59), 0.9),
    "and an hour and a minute later it is more": (berlin(3, 27, 23, 59), berlin(3, 29, 1, 0), 0.8),
    "a day of 25 hours is more than a day": (berlin(10, 30, 23, 59), berlin(10, 31, 23, 59), 0.8),
    "the hour that comes twice, first time": (berlin(10, 31, 2, 30), berlin(10, 31, 2, 30), 1.0),
    "and second time": (berlin(10, 31, 2, 30), berlin(10, 31, 2, 30, fold=1), 0.9),
}


@pytest.mark.parametrize(("due", "handed_in", "factor"), CLOCKS.values(), ids=CLOCKS)
def test_a_day_is_24_hours_whatever_the_clocks_did(
    due: datetime, handed_in: datetime, factor: float
):
    """Also where both times are of one zone, which Python subtracts by the clock on the wall."""
    assert factor == lateness.late_factor(HALF, due, handed_in)


SAID = {
    "within the grace": (timedelta(minutes=10), 0, 21.5, None),
    "minutes": (timedelta(minutes=11), 0, 21.5, ("11 min late, -10 %", 2.15)),
    "hours": (timedelta(hours=3, minutes=59), 0, 30, ("3 h 59 min late, -10 %", 3)),
    "seconds over the grace": (
        timedelta(minutes=10, seconds=1),
        0,
        21.5,
        ("11 min late, -10 %", 2.15),
    ),
    "seconds over a day": (timedelta(days=1, seconds=1), 0, 30, ("1 day 1 min late, -20 %", 6)),
    "a day to the second": (timedelta(days=1), 0, 30, ("1 day late, -10 %", 3)),
    "days and hours": (timedelta(days=2, hours=5), 0, 30, ("2 days 5 h late, -30 %", 9)),
    "the cap": (timedelta(days=31), 0, 30, ("31 days late, -50 %", 15)),
    "counted from the extension": (timedelta(hours=49), 48, 30, ("1 h late, -10 %", 3)),
    "nothing is taken from nothing": (timedelta(days=1), 0, 0, ("1 day late, -10 %", 0)),
}


@pytest.mark.parametrize(("late", "extension", "score", "said"), SAID.values(), ids=SAID)
def test_what_lateness_takes_is_said_in_one_line(
    late: timedelta, extension: float, score: float, said
):
    found = lateness.late(POLICY, DUE, DUE + late, score, extension)

    assert said == (found and (str(found), found.points))


def test_a_submission_is_in_time_until_extension_and_grace_are_over():
    """It is the moment from which lateness costs something."""
    until = lateness.deadline(POLICY, DUE, 48)

    assert (1.0, 0.9) == tuple(
        lateness.late_factor(POLICY, DUE, until + timedelta(seconds=more), 48) for more in (0, 1)
    )
    assert DUE == lateness.deadline(None, DUE)
