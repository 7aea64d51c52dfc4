"""A table of many runs: how its rows fit each other, and what a report may take from it."""

from __future__ import annotations

import pytest

from autograder.checks.configurations import (
    BUILDS_ON,
    FIGURES,
    PRINTED,
    RESULTS,
    VERSIONS,
    Script,
    copied_problem,
    implausible,
    learning_problem,
    pace_problem,
    row_problem,
    summary_of,
    summary_slips,
    work_problem,
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
        pytest.param({"throughput": 40 / 3}, "it leaves out the wait for data", id="no wait"),
        pytest.param({"throughput": 20.0}, "the seconds of one", id="twice"),
        pytest.param({"throughput": 40 / 3.2}, "it is the rate of one epoch", id="the fast epoch"),
        pytest.param({"throughput": 40 / 4.8}, "it is the rate of one epoch", id="the slow epoch"),
        pytest.param(
            {"throughput": 20 / 3.2 + 20 / 4.8}, "the mean of the epochs' rates", id="both epochs"
        ),
        pytest.param({"throughput": 5.0}, "the seconds of two", id="half"),
        pytest.param({"throughput": 40 / 8}, "the seconds of two", id="half by chance"),
        pytest.param({"throughput": 8.0}, "its clock is time.time()", id="the clock on the wall"),
        pytest.param({"throughput": 2.0}, "warm up before", id="cold"),
        pytest.param({"throughput": 11.0}, "where 10 is right", id="something else"),
        pytest.param({"throughput": None}, "None samples/s where 10 is right", id="no number"),
        pytest.param({"epoch_time": 8.0}, "epoch_time is 8 s where 4 is right", id="all epochs"),
        pytest.param(
            {"epoch_time": 4.8}, "epoch_time is 4.8 s where 4 is right", id="the last epoch"
        ),
        pytest.param(
            {"data_wait": 2.0}, "data_wait is 2 s where 1 is right", id="waits of all epochs"
        ),
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
            {"AMP": {"builds_on": "Baseline"}}, "it builds on 'Data loader'", id="another order"
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
            {"AMP": {"throughput": 720.0}}, "start one for each", id="left by an earlier run"
        ),
        pytest.param(
            {"AMP": {"throughput": 1200.0}}, "which is sys.executable", id="another Python"
        ),
        pytest.param(
            {"AMP": {"throughput": 120.0}},
            "start one when the last has ended",
            id="at the same time",
        ),
        pytest.param(
            {"AMP": {"loss": 1.0}}, "loss of AMP is 1, and its run printed 2", id="another loss"
        ),
        pytest.param(
            {"AMP": {"device": "else"}}, "and its name is 'a machine'", id="another device"
        ),
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
    ],
)
def test_a_unit_that_is_another_one_is_implausible(change, words):
    found = implausible(rows(AMP=change))

    assert (words in found) if words else "" == found


PACES = {"Baseline": 100.0, "DataLoader": 200.0, "Model": 210.0, "Memory": 250.0, "Final": 400.0}


def version(name, **other):
    """One of 1200 samples that fits the others."""
    seconds = 1200 / PACES[name]
    figures = {
        "throughput": PACES[name],
        "seconds": seconds,
        "data_wait": seconds / 4,
        "warm_up_s": 3.0,
    }
    work = {"samples": 1200, "steps": 20, "batch_size": 32, "loss": 1.0, "busy_percent": 40.0}
    return {
        "version": name,
        **figures,
        **work,
        "speedup": PACES[name] / 100,
        "device": "a machine",
        **other,
    }


def versions(**changes):
    """All rows; `Model={...}` changes that one."""
    return [version(name, **changes.get(name, {})) for name in PACES]


PROBLEMS = {
    "as they should be": (versions(), ""),
    "rounded to two decimals": (versions(Model={"seconds": 5.71, "speedup": 2.1}), ""),
    "four rows": (versions()[:4], "after row 4 there is no "),
    "text": (versions(Final={"speedup": "4.00x"}), "it must be a number"),
    "no seconds": (versions(Model={"seconds": 0}), "seconds of Model is 0, and has to be above 0"),
    "a fraction of 7": (versions(Model={"busy_percent": 700}), "has to be at most 100"),
    "waits longer than it ran": (
        versions(Model={"data_wait": 9.0}),
        "data_wait of Model is 9 s, and seconds 5.714 s",
    ),
    "one epoch's samples": (
        versions(Model={"throughput": 105.0, "speedup": 1.05}),
        "600 samples, and 1200 were trained on",
    ),
    "no device": (versions(Model={"device": " "}), "the device is not named"),
    "no text for a device": (versions(Model={"device": 3}), "the device is not named"),
    "fewer steps": (
        versions(Final={"steps": 5}),
        "steps of Final are 5, and 20 in the first row: that is other work",
    ),
    "another machine": (versions(Final={"device": "another"}), "from two machines"),
    "a speedup of its own": (
        versions(Final={"speedup": 5.0}),
        "throughput / throughput of the first row is 4",
    ),
}


@pytest.mark.parametrize(("table", "words"), PROBLEMS.values(), ids=PROBLEMS)
def test_rows_are_of_one_form_and_of_equal_work(table, words):
    found = VERSIONS.problem(table) or work_problem(table)

    assert (words in found) if words else "" == found


LEARNING = {
    "alike": (versions(), ""),
    "a little worse": (versions(Final={"loss": 1.24}), ""),
    "better": (versions(Final={"loss": 0.1}), ""),
    "nearly nothing was left to learn": (
        [{**it, "loss": 0.01} for it in versions()[:4]] + [version("Final", loss=0.25)],
        "",
    ),
    "worse": (versions(Final={"loss": 1.3}), "the loss of Final is 1.3, and 1 in the first row"),
    "nobody learns": ([{**it, "loss": 2.4} for it in versions()], "nothing was learnt"),
}


@pytest.mark.parametrize(("table", "words"), LEARNING.values(), ids=LEARNING)
def test_a_fast_version_learns_as_the_first_one_does(table, words):
    found = learning_problem(table)

    assert (words in found) if words else "" == found


COPIED = {
    "copied": ({}, ""),
    "tripled": ({"throughput": 300.0}, "it ran in the process of an earlier run"),
    "halved": ({"throughput": 50.0}, "another run took its cores"),
    "embellished": ({"throughput": 120.0}, "and its run printed 100"),
    "another share": (
        {"busy_percent": 81.0},
        "busy_percent of Baseline is 81, and its profile shows 40",
    ),
    "another machine": ({"device": "another"}, "and its name is 'a machine'"),
}


@pytest.mark.parametrize(("changes", "words"), COPIED.values(), ids=COPIED)
def test_a_version_is_what_its_run_printed(changes, words):
    found = copied_problem(
        VERSIONS, PRINTED, [version("Baseline", **changes)], [version("Baseline")]
    )

    assert (words in found) if words else "" == found
