"""When a submission came: a time with a zone that is one, kept where an instructor can mend it."""

from __future__ import annotations

import pytest

from autograder.errors import UserError
from autograder.handed_in import times
from autograder.handed_in.times import Handed, moment

MOMENTS = {
    "ISO with its offset": ("2027-01-20T23:59+05:30", "2027-01-20T23:59:00+05:30"),
    "nbgrader's own form": ("2015-02-02 15:58:23.948203 UTC", "2015-02-02T15:58:23.948203+00:00"),
    "the form of its documentation": (
        "2015-02-02 15:58:23.948203 America/Los_Angeles",
        "2015-02-02T15:58:23.948203-08:00",
    ),
    "with a number for a zone": (
        "2015-02-02 15:58:23.948203 -0800",
        "2015-02-02T15:58:23.948203-08:00",
    ),
    "without any zone": ("2015-02-02 15:58:23", "2015-02-02T15:58:23+00:00"),
    "Ruby's nine digits": (
        "2026-03-01 16:00:00.123456789 +01:00",
        "2026-03-01T16:00:00.123456+01:00",
    ),
    "Ruby's Z": ("2026-03-01 16:00:00.000000000 Z", "2026-03-01T16:00:00+00:00"),
    "in summer": ("2027-07-01 12:00:00 Europe/Berlin", "2027-07-01T12:00:00+02:00"),
    "in the hour that comes twice, the first": (
        "2027-10-31 02:30:00 Europe/Berlin",
        "2027-10-31T02:30:00+02:00",
    ),
    "letters that several zones have": ("2015-02-02 15:58:23 IST", None),
    "a zone that is none": ("2015-02-02 15:58:23 Europe/Atlantis", None),
    "a path": ("2015-02-02 15:58:23 ../../etc/passwd", None),
    "a day that is none": ("2027-02-30 12:00:00 UTC", None),
    "words": ("yesterday", None),
}


@pytest.mark.parametrize(("text", "expected"), MOMENTS.values(), ids=MOMENTS)
def test_a_time_is_read_with_its_zone_or_not_at_all(text, expected):
    """No zone is guessed."""
    found = moment(text)

    assert expected == (found and found.isoformat())


def test_times_are_kept_beside_the_results(tmp_path):
    """What is not known stays unknown."""
    handed = {
        "ada": Handed("ada", moment("2027-01-21T01:00+05:30"), source="ada+resnet18"),
        "=ben": Handed("=ben", marked_late=True),
    }
    times.write(tmp_path, handed)

    assert handed == times.read(tmp_path)
    assert {} == times.read(tmp_path / "elsewhere")


MISTAKES = {
    "no time": (
        "submission,handed_in\nada,tomorrow\n",
        "handed_in 'tomorrow' is not a time like 2027-01-20T23:59+05:30",
    ),
    "no zone": (
        "submission,handed_in\nada,2027-01-20 23:59\n",
        "handed_in '2027-01-20 23:59' does not say where that was; write 2027-01-20T23:59+05:30",
    ),
    "a submission twice": ("submission\nada\nada\n", "submission 'ada' stands twice; keep one"),
    "no mark": ("submission,marked_late\nada,no\n", "marked_late 'no' is neither 'yes' nor empty"),
}


@pytest.mark.parametrize(("text", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_one_line_with_its_place(tmp_path, text, message):
    """An instructor edits this file."""
    (tmp_path / times.FILE).write_text(text)
    with pytest.raises(UserError) as raised:
        times.read(tmp_path)

    assert f"{tmp_path / times.FILE}: row {text.count(chr(10))}: {message}" == str(raised.value)
