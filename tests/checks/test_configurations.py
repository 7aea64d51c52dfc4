"""A table of many runs: how its rows fit each other, and what a report may take from it."""

from __future__ import annotations

import pytest

from autograder.checks.configurations import (
    BUILDS_ON,
    FIGURES,
    RESULTS,
    Script,
    copied_problem,
    implausible,
    pace_problem,
    row_problem,
    summary_of,
    summary_slips,
)
from autograder.checks.numerics import explained

RATES = {"Baseline": 100.0, "Data loader": 120.0, "AMP": 240.0, "Compile": 300.0, "Accumulation": 250.0, "Checkpointing": 180.0}  # fmt: skip


def row(name, **other):
    """One of 600 samples an epoch that fits the others."""
    rate = RATES[name]
    own = {
        "configuration": name,
        "builds_on": BUILDS_ON[name],
        "throughput": rate,
        "epoch_time": 600 / rate,
    }
    figures = {
        "data_wait": 0.5,
        "warm_up_s": 1.0,
        "peak_memory_mb": 900.0,
        "loss": 2.0,
        "accuracy": 30.0,
    }
    ratios = {"speedup": rate / 100, "gain": rate / RATES.get(BUILDS_ON[name], rate)}
    return {**own, **figures, **ratios, "device": "a machine", **other}


def rows(**changes):
    """All rows; `AMP={...}` changes that one."""
    return [row(name, **changes.get(name.replace(" ", "_"), {})) for name in RATES]


SCRIPT = Script(
    samples=40, batches=5, wait=1.0, work=0.6, plain=1.0, once=9.0, uneven=0.8
)  # 3.2 and 4.8 s
TOLD = {"throughput": 10.0, "epoch_time": 4.0, "data_wait": 1.0}


@pytest.mark.parametrize(
    ("told", "words"),
    [
        pytest.param({}, "", id="as it passed"),
        pytest.param({"throughput": 40 / 3}, "the time leaves out the wait for data", id="no wait"),
        pytest.param({"throughput": 20.0}, "it is twice the right one", id="twice"),
        pytest.param({"throughput": 40 / 3.2}, "it is the rate of one epoch", id="the fast epoch"),
        pytest.param({"throughput": 40 / 4.8}, "it is the rate of one epoch", id="the slow epoch"),
        pytest.param(
            {"throughput": 20 / 3.2 + 20 / 4.8}, "the mean of the epochs' rates", id="both epochs"
        ),
        pytest.param({"throughput": 5.0}, "it is half the right one", id="half"),
        pytest.param({"throughput": 40 / 8}, "it is half the right one", id="half by chance"),
        pytest.param({"throughput": 8.0}, "the clock is time.time()", id="the clock on the wall"),
        pytest.param(
            {"throughput": 2.0},
            "usually it includes what only the first whole step does",
            id="cold",
        ),
        pytest.param({"throughput": 11.0}, "where 10 is right", id="something else"),
        pytest.param({"throughput": None}, "None samples/s where 10 is right", id="no number"),
        pytest.param({"epoch_time": 8.0}, "epoch_time is 8 s: ", id="all epochs"),
        pytest.param({"epoch_time": 4.8}, "epoch_time is 4.8 s: ", id="the last epoch"),
        pytest.param({"data_wait": 2.0}, "data_wait is 2 s: ", id="waits of all epochs"),
    ],
)
def test_a_run_is_held_against_the_clock_that_was_scripted(told, words):
    found = pace_problem({**TOLD, **told}, SCRIPT)

    assert (words in found) if words else "" == found


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        pytest.param({}, "", id="rows that fit"),
        pytest.param({"AMP": {"throughput": "240x"}}, "it must be a number", id="text"),
        pytest.param(
            {"AMP": {"builds_on": "Baseline"}}, "and 'Data loader' is right", id="another order"
        ),
        pytest.param(
            {"AMP": {"peak_memory_mb": 0.0}},
            "peak_memory_mb of AMP is 0, and has to be above 0",
            id="no memory",
        ),
        pytest.param(
            {"AMP": {"data_wait": 3.0}}, "and epoch_time 2.5 s", id="a longer wait than the epoch"
        ),
        pytest.param(
            {"AMP": {"accuracy": 130.0}},
            "accuracy of AMP is 130, and has to be at most 100",
            id="no percentage",
        ),
        pytest.param({"AMP": {"device": " "}}, "the device is not named", id="no device"),
        pytest.param(
            {"AMP": {"device": "another"}}, "the rows are from two machines", id="two machines"
        ),
        pytest.param(
            {"AMP": {"epoch_time": 3.5}},
            "throughput x epoch_time is 600 samples in one row and 840",
            id="other samples",
        ),
        pytest.param({"AMP": {"speedup": 2.9}}, "speedup of AMP is 2.9", id="another baseline"),
        pytest.param(
            {"AMP": {"gain": 2.4}}, "that of Data loader is 2", id="gain over another row"
        ),
        pytest.param(
            {"Baseline": {"gain": 2.0}}, "that of Baseline is 1", id="the first row gains"
        ),
    ],
)
def test_rows_contradict_each_other_in_words(changes, words):
    found = RESULTS.problem(rows(**changes)) or row_problem(rows(**changes))

    assert (words in found) if words else "" == found


def test_an_empty_builds_on_may_be_none():
    assert "" == row_problem(rows(Baseline={"builds_on": None}))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        pytest.param({}, "", id="copied"),
        pytest.param(
            {"AMP": {"throughput": 720.0}},
            "usually two runs share a process",
            id="left by an earlier run",
        ),
        pytest.param(
            {"AMP": {"throughput": 1200.0}},
            "is right: usually another Python ran it",
            id="another Python",
        ),
        pytest.param(
            {"AMP": {"throughput": 120.0}},
            "usually another run took its cores at the same time",
            id="at the same time",
        ),
        pytest.param(
            {"AMP": {"loss": 1.0}},
            "loss of AMP is 1, and the last line of a run with its options has 2",
            id="another loss",
        ),
        pytest.param({"AMP": {"device": "else"}}, "expected 'a machine'", id="another device"),
    ],
)
def test_rows_are_what_the_runs_printed(changes, words):
    found = copied_problem(RESULTS, FIGURES, rows(**changes), rows())

    assert (words in found) if words else "" == found


def test_the_summary_is_of_the_fastest_and_the_leanest():
    expected = {"fastest": "Compile", "speedup": 3.0, "time_saved_s": 4.0}
    expected |= {"leanest": "Data loader", "memory_saved_percent": 50.0}

    assert expected == summary_of(rows(Data_loader={"peak_memory_mb": 450.0}))


@pytest.mark.parametrize(
    ("name", "told", "words"),
    [
        pytest.param("memory_saved_percent", 0.2, "a fraction", id="a fraction"),
        pytest.param(
            "memory_saved_percent", 25.0, "of the leanest peak", id="percent of the leanest"
        ),
        pytest.param("time_saved_s", 0.2, "", id="of no story"),
    ],
)
def test_a_usual_slip_of_the_summary_is_known(name, told, words):
    found = explained(told, summary_slips(name, 20.0), 1e-6)

    assert (words in found) if words else "" == found


@pytest.mark.parametrize(
    ("change", "words"),
    [
        pytest.param({}, "", id="plausible"),
        pytest.param({"peak_memory_mb": 0.9}, "it is in MB", id="gigabytes"),
        pytest.param({"throughput": 1e7}, "it is in samples/s", id="samples per hour"),
        pytest.param({"loss": 40.0}, "ln(10)", id="a sum of losses"),
        pytest.param({"accuracy": 0.31}, "it is a fraction", id="a fraction"),
    ],
)
def test_a_unit_that_is_another_one_is_implausible(change, words):
    found = implausible(rows(AMP=change))

    assert (words in found) if words else "" == found
