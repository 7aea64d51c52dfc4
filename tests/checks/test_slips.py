"""Numbers that usual mistakes give: of an epoch whose parts are known, and of calls that were repeated."""

from __future__ import annotations

from itertools import islice

import pytest

from autograder.checks import slips, timing
from autograder.checks.slips import Epoch
from autograder.checks.table_form import Form, positive, words

CALLS = Form("calls.csv", (words("f", "its name"), positive("ms", "median", "ms")))
EPOCHS = Form(
    "epochs.csv",
    (
        words("f", "its name"),
        positive("throughput", "of all", "samples/s"),
        positive("epoch_time", "of one", "s"),
        positive("data_wait", "of it", "s"),
    ),
)
EPOCH = Epoch(samples=60, batches=4, wait=2.0, work=1.0, cold=5.0)  # 6 s


def median(told, seconds, repeats):
    return slips.median_problem(CALLS, {"f": "f", "ms": told}, "ms", seconds, repeats)


TIMES = {
    "right": ({}, ""),
    "cold": ({"throughput": 60 / 11}, "throughput of f is 5.455 samples/s: the slow"),
    "no wait": ({"throughput": 15.0}, "the time leaves out the wait for data"),
    "batches": ({"throughput": 4 / 6}, "batches are counted, and not samples"),
    "the clock on the wall": ({"throughput": 8.0}, "the clock is time.time()"),
    "anything": ({"throughput": 33.0}, "samples/s: whatever it is (10 is right)"),
    "no number": ({"throughput": None}, "throughput of f is None samples/s: whatever"),
    "milliseconds": ({"epoch_time": 6000.0}, "epoch_time of f is 6000 s: more than the epoch was timed (6 is right)"),
    "waits of all epochs": ({"data_wait": 4.0}, "data_wait of f is 4 s where 2 is right"),
}  # fmt: skip


@pytest.mark.parametrize(("changes", "words"), TIMES.values(), ids=TIMES)
def test_figures_of_an_epoch_are_those_that_passed(changes, words):
    row = {"f": "f", "throughput": 10.0, "epoch_time": 6.0, "data_wait": 2.0, **changes}
    found = slips.time_problem(EPOCHS, row, EPOCH, EPOCH.slips(), otherwise="whatever it is")

    assert words in found
    assert bool(words) == bool(found)


@pytest.mark.parametrize("told", [100.0, 100.9])
def test_the_median_of_repeated_calls_is_accepted(told):
    assert "" == median(told, 0.1, 5)


@pytest.mark.parametrize(
    ("told", "words"),
    [
        pytest.param(176.0, "ms of f is 176 ms: it is the mean", id="mean"),
        pytest.param(80.0, "it is the fastest call", id="fastest"),
        pytest.param(500.0, "it is the slowest call", id="slowest"),
        pytest.param(300.0, "timed while the memory was being watched", id="watched"),
        pytest.param(285.0, "timed while the memory was being watched", id="one call, watched"),
        pytest.param(0.1, "it is in seconds", id="seconds"),
        pytest.param(776.0, "the slow first call", id="cold"),
        pytest.param(95.0, "it is the median of fewer calls than repeats", id="fewer calls"),
        pytest.param(
            105.0,
            "fewer calls than repeats are timed, or the slow first call",
            id="cold, or fewer calls",
        ),
        pytest.param(125.0, "the clock is time.time()", id="the clock on the wall"),
        pytest.param(102.5, "the slow first call", id="cold, of one call more"),
        pytest.param(1000.0, "the slow first call", id="cold in another way"),
        pytest.param(123.0, "ms of f is 123 ms where 100 is right", id="anything"),
    ],
)
def test_another_time_is_told_by_what_it_is(told, words):
    assert median(told, 0.1, 5).startswith("ms of f is")
    assert words in median(told, 0.1, 5)


COUNTED = {
    "three calls": ({"watched": 1, "": 4}, 105.0, "your code makes fewer calls than repeats: 4 with the warm-up, and 6 are right"),
    "two calls, which look like watched ones": ({"watched": 1, "": 3}, 302.5, "fewer calls than repeats"),
    "two calls, and right by luck": ({"": 3}, 100.0, "ms of f is 100: your code makes fewer calls than repeats: 3 with the warm-up, and 6 are right (that number is right)"),
    "no warm-up": ({"": 5}, 105.0, "the slow first call"),
    "more calls, of which few are timed": ({"": 9}, 105.0, "or the slow first call is one of them"),
    "gradients": ({"profiled": 1, "recorded": 6, "": 0}, 300.0, "it was timed while gradients were recorded"),
    "one call, profiled": ({"profiled": 1, "recorded": 0, "": 1}, 300.0, "it was timed while the profiler ran"),
    "a kind that is not known": ({"else": 6}, 300.0, "where 100 is right"),
}  # fmt: skip


@pytest.mark.parametrize(("calls", "told", "words"), COUNTED.values(), ids=COUNTED)
def test_counts_of_calls_tell_one_cause_from_another(calls, told, words):
    row = {"f": "f", "ms": told}

    assert words in slips.median_problem(CALLS, row, "ms", 0.1, 5, calls=calls)


def test_rows_without_counts_are_judged_as_well():
    assert [{"": 5}, {}, {}] == list(islice(slips.counts([{"": 5}]), 3))


def test_a_rounded_time_is_told():
    assert "it is rounded" in median(0.3, 0.000336, 5)


def test_the_mean_with_the_cold_call_is_told_from_a_watched_one():
    """Where both are as long, it is the mean: nobody hits three times the median by chance."""
    told = 291.1 * 10.8 / 7 + 3000 / 7

    assert told == pytest.approx(3 * 291.1, rel=timing.EXACT)
    assert "the slow first call" in median(told, 0.2911, 7)
