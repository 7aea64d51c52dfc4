"""The labs that are there."""

from __future__ import annotations

import pytest

from autograder.course import labs
from autograder.course.labs import load_lab
from autograder.errors import CourseError
from autograder.lab import (
    Part,
)


def part():
    return Part("part9_new", writes=["work"], hands_in=["table.csv"])


def test_a_wrong_declaration_stops_the_lab(monkeypatch):
    """Every problem of every part is in the one line."""
    new = part()

    @new.check(basis="outputs")
    def holds(): ...

    monkeypatch.setattr(labs, "load_part", lambda name: new)
    with pytest.raises(
        CourseError, match=r"^lab resnet18: part9_new\.holds: has no docstring; students read it"
    ):
        load_lab("resnet18")


def test_an_unknown_lab_or_part_offers_the_nearest_name():
    """A typing mistake is answered, not searched for."""
    with pytest.raises(
        CourseError, match=r"there is no lab 'resnet81' \(did you mean 'resnet18'\?\)"
    ):
        load_lab("resnet81")
    with pytest.raises(
        CourseError, match=r"lab resnet18 has no part 'prt3_amp' \(did you mean 'part3_amp'\?\)"
    ):
        load_lab("resnet18").part("prt3_amp")


def test_parts_come_by_their_names_and_a_bonus_last():
    ids = [part.id for part in load_lab("resnet18").parts]

    assert ids == [*sorted(set(ids) - {"bonus"}), "bonus"]
