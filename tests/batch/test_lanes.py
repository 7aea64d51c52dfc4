"""Lanes share a machine: what a submission starts in one of them takes no time from another."""

from __future__ import annotations

import os

import pytest

from autograder.batch.lanes import Lane, Work, share
from autograder.errors import UserError


@pytest.mark.parametrize(
    ("cores", "lanes", "shares"),
    [
        pytest.param({0, 1}, 1, [{0, 1}], id="one lane has all"),
        pytest.param({2, 3, 6, 7}, 2, [{2, 6}, {3, 7}], id="halves"),
        pytest.param({0, 1, 2, 3, 4}, 2, [{0, 2, 4}, {1, 3}], id="an odd number"),
        pytest.param({0, 1}, 3, [{0}, {1}, {0}], id="more lanes than cores"),
    ],
)
def test_lanes_share_the_cores_of_the_run(monkeypatch, cores, lanes, shares):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: cores)

    assert shares == [share(number + 1, lanes) for number in range(lanes)]


def test_a_lane_and_what_it_starts_stay_on_its_cores(tmp_path):
    """It takes them before it opens a session."""

    def opens():
        raise UserError(str(os.sched_getaffinity(0)))

    lanes = 2
    for number in (1, 2):
        lane = Lane(number, Work(None, opens, tmp_path), clocked=False, lanes=lanes)

        assert {"stop": str(share(number, lanes))} == lane.hear()
        lane.bury()
