"""While a folder is watched the queue is followed, event by event, under a clock of its own."""

from __future__ import annotations

from contextlib import suppress

import pytest

from autograder.batch.class_events import Event
from autograder.cli import waiting
from autograder.cli.waiting import Waiting
from autograder.report.estimate import foretold


class Outside:
    """Who is not being looked at yet."""

    def outside(self):
        return ["eve"], ["fay"]


class Clock:
    time = 0.0

    def __call__(self):
        return self.time


@pytest.fixture
def queue(tmp_path, monkeypatch):
    """The queue, its clock, and what was written last."""
    written = []
    monkeypatch.setattr(waiting, "write", lambda out, lab, queue: written.append(queue))
    clock = Clock()
    return Waiting(tmp_path, "lab", Outside(), clock), clock, written


def test_who_is_graded_waits_or_arrives(queue):
    follows, clock, written = queue
    follows.begins(["ada", "ben", "cy"])
    for seconds, event in enumerate(
        (
            Event("starts", "ada", 1),
            Event("starts", "ben", 2),
            Event("graded", "ada", 1),
            Event("says", "ben", 2, {"says": "pair 3"}),
        )
    ):
        clock.time = 10.0 * (seconds + 1)
        follows.show(event)
    last = written[-1]

    assert [("ben", 20.0, "pair 3")] == [(it.name, it.seconds, it.says) for it in last.running]
    assert (["cy", "eve"], ["fay"]) == (last.waiting, last.arriving)
    assert 40.0 == last.each


def test_before_the_first_grade_the_number_of_timed_checks_tells_how_long_it_takes(queue):
    follows, clock, written = queue
    follows.begins(["ada", "ben"])
    assert written[-1].each is None

    clock.time = waiting.EVERY_SECONDS
    follows.show(Event("round", facts={"round": "timed", "of": 2, "lanes": 1, "to_time": 4}))
    assert foretold(4, 1) / 2 == written[-1].each


def test_whoever_was_being_graded_waits_again_once_grading_is_stopped(queue):
    """Ctrl-C comes as an exception."""
    follows, _, written = queue
    with suppress(KeyboardInterrupt), follows:
        follows.begins(["ada", "ben"])
        follows.show(Event("starts", "ada", 1))
        raise KeyboardInterrupt

    assert (True, [], ["ada", "ben", "eve"]) == (
        written[-1].stopped,
        written[-1].running,
        written[-1].waiting,
    )


def test_after_a_batch_nobody_of_it_is_left(queue):
    follows, clock, written = queue
    follows.begins(["ada", "ben"])
    follows.show(Event("starts", "ada", 1))
    clock.time = 30.0
    follows.ends()

    assert ([], ["eve"], 15.0) == (written[-1].running, written[-1].waiting, written[-1].each)


def test_many_events_in_a_moment_are_one_page(queue):
    follows, clock, written = queue
    follows.begins(["ada"])
    before = len(written)
    for _ in range(50):
        follows.show(Event("tick"))
    clock.time = waiting.EVERY_SECONDS
    follows.show(Event("tick"))

    assert before + 1 == len(written)
