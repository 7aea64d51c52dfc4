"""What is said about time, against a script: 3 batches of 4, 4 and 2 samples, 1 + 2 + 3 s of waits, 2 s of work each."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autograder.checks import timing
from autograder.model import Failed, Passed

SCRIPT = timing.Script(waits=[3.0, 2.0, 1.0], work=[2.0, 2.0, 2.0], samples=10, batch=4)
RATE = 10 / 12


QUEUED = replace(SCRIPT, queued=3.0)


def judged(throughput, data_wait, script=SCRIPT):
    return timing.honest({"throughput": throughput, "data_wait": data_wait}, script)


def test_what_passed_is_what_is_accepted():
    assert isinstance(judged(RATE * 1.009, 6.05), Passed)
    assert isinstance(judged(10 / 15, 6.0, QUEUED), Passed)


def test_seconds_that_are_endless_are_judged_too():
    assert isinstance(judged(1.0, 6.0, replace(SCRIPT, copied=1e308, work=[1e308] * 3)), Failed)


@pytest.mark.parametrize(
    ("data_wait", "kind"),
    [
        pytest.param(2.5, Passed, id="a part of it, beside the work"),
        pytest.param(6.5, Failed, id="more than all of it"),
        pytest.param(0.0, Failed, id="none"),
        pytest.param(None, Failed, id="no number"),
    ],
)
def test_where_a_thread_asks_ahead_less_of_the_wait_is_seen(data_wait, kind):
    assert isinstance(judged(RATE, data_wait, replace(SCRIPT, ahead=True)), kind)
    assert isinstance(judged(RATE, data_wait), Failed)


@pytest.mark.parametrize(
    ("throughput", "data_wait", "why", "try_"),
    [
        pytest.param(
            10 / 12,
            6.0,
            "the clock stops before the device has finished",
            timing.LATE,
            id="too early",
        ),
        pytest.param(
            10 / 6,
            6.0,
            "the time leaves out the wait for data",
            timing.EARLY,
            id="work, not waited for",
        ),
        pytest.param(
            10 / 9,
            6.0,
            "the time leaves out the wait for data",
            timing.EARLY,
            id="work, waited for",
        ),
        pytest.param(
            3 / 15, 6.0, "batches are counted, and not samples", timing.COUNT, id="batches"
        ),
        pytest.param(
            10 / 15,
            12.0,
            "data_wait holds the work as well",
            "read the clock again",
            id="wait and work",
        ),
        pytest.param(
            10 / 15,
            3.0,
            "the wait for the first batch is left out",
            timing.SUM,
            id="wait without the first",
        ),
    ],
)
def test_work_of_a_device_counts_once_the_host_waited_for_it(throughput, data_wait, why, try_):
    """3 s of work ran beside the host; what to try fits the mistake."""
    verdict = judged(throughput, data_wait, QUEUED)

    assert isinstance(verdict, Failed)
    assert why in verdict.why
    assert try_ in verdict.try_


@pytest.mark.parametrize(
    ("throughput", "data_wait", "why"),
    [
        pytest.param(10 / 6, 6.0, "the time leaves out the wait for data", id="work only"),
        pytest.param(10 / 9, 6.0, "the wait for the first batch is left out", id="first fetch"),
        pytest.param(3 / 12, 6.0, "batches are counted, and not samples", id="batches"),
        pytest.param(10 / 15, 7.5, "the clock is time.time()", id="the clock on the wall"),
        pytest.param(RATE, 7.5, "the clock is time.time()", id="the wait by the clock on the wall"),
        pytest.param(12 / 12, 6.0, "the last batch is counted as a full one", id="ragged"),
        pytest.param(RATE / 1000, 6.0, "the time is in milliseconds", id="in milliseconds"),
        pytest.param(7.0, 6.0, "8.4 times samples / seconds", id="anything"),
        pytest.param(None, 6.0, "not samples / seconds", id="no number"),
        pytest.param(
            RATE, 3.0, "the wait for the first batch is left out", id="wait without the first"
        ),
        pytest.param(RATE, 2.0, "it is the mean", id="mean wait"),
        pytest.param(RATE, 5.0, "of the first 2 batches alone", id="a batch left out"),
        pytest.param(RATE, 0.5, "it is a share", id="share"),
        pytest.param(RATE, 6000.0, "the time is in milliseconds", id="milliseconds"),
        pytest.param(RATE, 12.0, "data_wait holds the work as well", id="everything"),
        pytest.param(RATE, 10.0, "data_wait holds the work as well", id="all but the last step"),
        pytest.param(
            RATE,
            3.0 + 7.0 + 10.0,
            "the clock is never started again",
            id="from the start of the epoch",
        ),
        pytest.param(RATE, 6.5, "data_wait holds more than the waits", id="wait and copy"),
        pytest.param(
            RATE, 1e-5, "the clock starts when the batch is there already", id="the copy alone"
        ),
        pytest.param(RATE, 0.0, "the waits were not added up", id="zero"),
        pytest.param(RATE, None, "the waits were not added up", id="no wait"),
    ],
)
def test_another_figure_fails_and_a_usual_mistake_is_named(throughput, data_wait, why):
    verdict = judged(throughput, data_wait)

    assert isinstance(verdict, Failed)
    assert why in verdict.why
