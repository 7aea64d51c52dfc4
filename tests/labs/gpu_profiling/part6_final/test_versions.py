"""Versions of equal work: how their rows fit each other, and what their runs printed."""

from __future__ import annotations

import pytest

from autograder.labs.gpu_profiling.part6_final import comparison
from autograder.labs.gpu_profiling.part6_final.versions import (
    PRINTED,
    VERSIONS,
    copied_problem,
    learning_problem,
    work_problem,
)
from autograder.model import Observation, Pair

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
    "four rows": (versions()[:4], "ends after row 4; missing: "),
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
        "steps of Final are 5, and 20 in the first row: that is different work",
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
    "tripled": ({"throughput": 300.0}, "two runs share a process"),
    "halved": ({"throughput": 50.0}, "usually your code halved it"),
    "embellished": ({"throughput": 120.0}, "and the last line of a run with its options has 100"),
    "another share": (
        {"busy_percent": 81.0},
        "busy_percent of Baseline is 81, and its profile shows 40",
    ),
    "another machine": ({"device": "another"}, "expected 'a machine'"),
}


@pytest.mark.parametrize(("changes", "words"), COPIED.values(), ids=COPIED)
def test_a_version_is_what_its_run_printed(changes, words):
    found = copied_problem(
        VERSIONS, PRINTED, [version("Baseline", **changes)], [version("Baseline")]
    )

    assert (words in found) if words else "" == found


def compared(rows, busy):
    runs = [version(name) for name in PACES]
    values = {"rows": rows, "busy": busy}, {"runs": runs}
    return comparison._compared(Pair(*(Observation("comparison", "ok", it) for it in values)))


def test_shares_that_are_too_few_are_a_failure():
    rows = [version(name) for name in PACES]

    assert "its profile shows None" in compared(rows, [40.0])[2]


def test_a_run_that_finds_what_another_left_has_a_hint_of_its_own():
    rows = [version(name) for name in PACES]
    rows[1]["throughput"] *= 3

    assert "start a new process" in compared(rows, [40.0] * len(rows))[1]
