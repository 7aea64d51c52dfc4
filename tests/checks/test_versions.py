"""A table of versions that do the same work: how its rows fit each other, and what a reflection may take from it."""

from __future__ import annotations

import pytest

from autograder.checks.versions import (
    compared_problem,
    copied_problem,
    learning_problem,
    row_problem,
)

RATES = {"Baseline": 100.0, "DataLoader": 200.0, "Model": 210.0, "Memory": 250.0, "Final": 400.0}


def row(name, **other):
    """One of 1200 samples that fits the others."""
    seconds = 1200 / RATES[name]
    figures = {
        "throughput": RATES[name],
        "seconds": seconds,
        "data_wait": seconds / 4,
        "warm_up_s": 3.0,
    }
    work = {"samples": 1200, "steps": 20, "batch_size": 32, "loss": 1.0, "busy_percent": 40.0}
    return {
        "version": name,
        **figures,
        **work,
        "speedup": RATES[name] / 100,
        "device": "a machine",
        **other,
    }


def rows(**changes):
    """All rows; `Model={...}` changes that one."""
    return [row(name, **changes.get(name, {})) for name in RATES]


PROBLEMS = {
    "as they should be": (rows(), ""),
    "rounded to two decimals": (rows(Model={"seconds": 5.71, "speedup": 2.1}), ""),
    "four rows": (rows()[:4], "are asked for, in that order"),
    "text": (rows(Final={"speedup": "4.00x"}), "it must be a number"),
    "no seconds": (rows(Model={"seconds": 0}), "seconds of Model is 0, and has to be above 0"),
    "a fraction of 7": (rows(Model={"busy_percent": 700}), "has to be at most 100"),
    "waits longer than it ran": (
        rows(Model={"data_wait": 9.0}),
        "data_wait of Model is 9 s of 5.714 s",
    ),
    "one epoch's samples": (
        rows(Model={"throughput": 105.0}),
        "600 samples, and 1200 were trained on",
    ),
    "no device": (rows(Model={"device": " "}), "the device is not named"),
    "no text for a device": (rows(Model={"device": 3}), "the device is not named"),
    "fewer steps": (
        rows(Final={"steps": 5}),
        "steps of Final are 5, and 20 in the first row: that is other work",
    ),
    "another machine": (rows(Final={"device": "another"}), "from two machines"),
    "a speedup of its own": (
        rows(Final={"speedup": 5.0}),
        "its throughput / that of Baseline is 4",
    ),
}


@pytest.mark.parametrize(("table", "words"), PROBLEMS.values(), ids=PROBLEMS)
def test_rows_are_of_one_form_and_of_equal_work(table, words):
    found = row_problem(table)

    assert (words in found) if words else "" == found


LEARNING = {
    "alike": (rows(), ""),
    "a little worse": (rows(Final={"loss": 1.24}), ""),
    "better": (rows(Final={"loss": 0.1}), ""),
    "nearly nothing was left to learn": (
        [{**it, "loss": 0.01} for it in rows()[:4]] + [row("Final", loss=0.25)],
        "",
    ),
    "worse": (rows(Final={"loss": 1.3}), "the loss of Final is 1.3, and 1 in the first row"),
    "nobody learns": ([{**it, "loss": 2.4} for it in rows()], "nothing was learnt"),
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
    "another machine": ({"device": "another"}, "and the run printed 'a machine'"),
}


@pytest.mark.parametrize(("changes", "words"), COPIED.values(), ids=COPIED)
def test_a_row_is_what_its_run_printed(changes, words):
    found = copied_problem([row("Baseline", **changes)], {"Baseline": row("Baseline")})

    assert (words in found) if words else "" == found


def test_a_comparison_is_judged_by_its_form_first():
    assert "are asked for" in compared_problem([], rows()[:4])
    assert "" == compared_problem(rows()[:4], rows()[:4])
