"""Lanes: each task once, in as many processes as there are lanes, what comes back in the order of the tasks."""

from __future__ import annotations

import os
from contextlib import contextmanager

import pytest

from autograder.course.proof_lanes import Lanes
from tests.toy import FakeWorkers, toy_session


@contextmanager
def opened():
    yield toy_session(FakeWorkers({}))


def numbered(number):
    return lambda session: (number, session.isolation, os.getpid())


@pytest.mark.parametrize("count", [1, 2, 5])
def test_what_comes_back_is_in_the_order_of_the_tasks(count):
    """Each task got the session of its lane."""
    found = list(Lanes(opened, count)([numbered(n) for n in range(9)]))

    assert [(n, opened_isolation()) for n in range(9)] == [
        (number, isolation) for number, isolation, _ in found
    ]


def opened_isolation():
    with opened() as session:
        return session.isolation


def test_a_lane_is_a_process_of_its_own_unless_it_is_alone():
    two, one = (list(Lanes(opened, count)([numbered(n) for n in range(4)])) for count in (2, 1))

    assert os.getpid() not in {process for *_, process in two}
    assert {os.getpid()} == {process for *_, process in one}


def test_no_task_opens_no_session():
    def never():
        raise AssertionError("opened")

    assert [] == list(Lanes(never, 2)([]))


def test_what_a_task_raises_arrives():
    """A course that contradicts itself is an error of the author's, in whichever lane it is met."""

    def fails(session):
        raise ValueError("two of them")

    with pytest.raises(ValueError, match="two of them"):
        list(Lanes(opened, 2)([fails, numbered(1)]))
