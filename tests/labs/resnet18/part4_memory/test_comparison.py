"""A table of two models, against a clock whose every move is known: each mistake is said in words of its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from autograder.checks.slips import Epoch
from autograder.labs.resnet18.part4_memory import comparison
from autograder.labs.resnet18.part4_memory.part import RESULTS

EPOCHS = [
    Epoch(samples=100, batches=10, wait=2.0, work=work, cold=3.0) for work in (0.3, 0.6)
]  # 5 s, and 8 s with checkpointing
SCHEMA = (
    Path(__file__).parents[4] / "assignments/resnet18/schemas/checkpointing_results.schema.json"
)


def rows(first=None, second=None):
    """Two right rows with what is asked for changed."""
    standard = dict(
        zip(RESULTS.names, ("Standard", 20.0, 5.0, None, 8.0, 2.0, 1.0, "a CPU"), strict=True)
    )
    again = dict(
        zip(
            RESULTS.names,
            ("With Checkpointing", 12.5, 8.0, None, 1.0, 2.0, 1.6, "a CPU"),
            strict=True,
        )
    )
    return [standard | (first or {}), again | (second or {})]


def test_right_rows_have_no_problem():
    found = rows()

    assert "" == RESULTS.problem(found)
    assert "" == comparison.row_problem(found)
    assert "" == comparison.figure_problem(found, found[0], comparison.TRAINED)
    assert "" == comparison.time_problem(found, EPOCHS)


ROWS = {
    "no rows": ([], "there are no rows"),
    "the other way round": (rows()[::-1], "row 1 is With Checkpointing"),
    "text for a number": (rows({"loss": "2.0"}), "loss of Standard is '2.0'"),
    "no throughput": (rows({"throughput": 0.0}), "throughput of Standard is 0, and has to be above 0"),
    "no device": (rows({}, {"device": " "}), "the device is not named"),
    "a number for a device": (rows({}, {"device": 1.0}), "the device is not named"),
    "a word for the peak": (rows({"peak_memory_mb": "none"}), "peak_memory_mb of Standard is 'none'"),
    "upside down": (rows({}, {"slowdown": 0.625}), "slowdown of With Checkpointing is 0.625, but throughput of the first row"),
    "nothing saved": (rows({}, {"saved_mb": 8.0}), "checkpointing keeps 8 MB, and the standard model 8 MB"),
    "another loss": (rows({}, {"loss": 2.1}), "the two losses differ"),
    "no loss": (rows({"loss": float("nan")}), "the two losses differ"),
}  # fmt: skip


@pytest.mark.parametrize(("found", "words"), ROWS.values(), ids=ROWS)
def test_rows_that_contradict_themselves(found, words):
    assert words in (RESULTS.problem(found) or comparison.row_problem(found))


FIGURES = {
    "in MiB": (
        rows({"saved_mb": 7.63}),
        "saved_mb of Standard is 7.63 MB: it is in MiB, and MB are expected (8 is right)",
    ),
    "one layer only": (
        rows({}, {"saved_mb": 5.0}),
        "saved_mb of With Checkpointing is 5, and less than 4 is right",
    ),
    "trained before": (
        rows({"loss": 1.9}),
        f"loss of Standard is 1.9: {comparison.TRAINED} (2 is right)",
    ),
    "memory of the host": (
        rows({}, {"peak_memory_mb": 977}),
        "peak_memory_mb of With Checkpointing is 977: no GPU was there",
    ),
    "another device": (
        rows({}, {"device": "a GPU"}),
        "the device is given as 'a GPU' in the column device; expected 'a CPU'",
    ),
}


@pytest.mark.parametrize(("found", "words"), FIGURES.values(), ids=FIGURES)
def test_figures_that_have_nothing_to_do_with_time(found, words):
    assert words in comparison.figure_problem(found, rows()[0], comparison.TRAINED)


TIMES = {
    "cold": (
        rows({"throughput": 12.5}),
        "throughput of Standard is 12.5 samples/s: the slow first pass",
    ),
    "without the wait": (rows({"throughput": 100 / 3}), "the time leaves out the wait for data"),
    "checkpointed already": (rows({"throughput": 12.4}), "something ran a second time"),
    "not checkpointed": (
        rows({}, {"throughput": 20.0}),
        "no segment ran again in the backward pass",
    ),
    "of no story": (rows({"throughput": 77.0}), "20 is right"),
    "half an epoch": (
        rows({"epoch_time": 2.5}),
        "epoch_time of Standard is 2.5 s where 5 is right",
    ),
}


@pytest.mark.parametrize(("found", "words"), TIMES.values(), ids=TIMES)
def test_figures_of_another_time(found, words):
    cold = 9.0 if "second time" in words else 3.0
    epochs = [replace(epoch, cold=cold) for epoch in EPOCHS]

    assert words in comparison.time_problem(found, epochs)


def test_a_second_row_that_ran_nothing_again_points_to_its_model():
    wrong = comparison.time_problem(rows({}, {"throughput": 20.0}), EPOCHS)

    tries = [try_ for words, (_, try_) in comparison.CAUSES.items() if words in wrong]
    assert tries[0] == comparison.RERUN


@pytest.mark.parametrize(
    ("passes", "words"),
    [([3, 10, 4, 10], ""), ([3, 9], "the longest training had 9 forward passes"), ([], "had 0")],
)
def test_an_epoch_that_is_too_short_says_how_far_it_came(passes, words):
    assert words in comparison.epoch_problem(passes, 10)
    assert bool(words) == bool(comparison.epoch_problem(passes, 10))


@pytest.mark.parametrize(
    ("passes", "words"),
    [
        ([3, 10, 4, 10], ""),
        ([3, 11, 4, 10], "ran 11 batches, and its epoch has 10"),
        ([3, 10, 4, 9], "only one training ran for the 10 batches"),
    ],
)
def test_a_measured_training_runs_for_its_epoch_alone(passes, words):
    assert words in comparison.reuse_problem(passes, 10)
    assert bool(words) == bool(comparison.reuse_problem(passes, 10))
