"""Runs and rows of strong and weak scaling: what is wrong is said in one sentence that names the usual mistake."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.labs.gpu_profiling.part5_scaling import judges
from autograder.model import Observation, Pair

COUNTS, SAMPLES, BATCH = [1, 2, 4], 96, 12
EPOCHS = [8.0, 0.7, 1.0, 1.0, 1.3, 2.0]  # median after the first: 1.0
KNOWN = {
    "processes": COUNTS,
    "samples": SAMPLES,
    "batch_size": BATCH,
    "epochs": [[one * scale for one in EPOCHS] for scale in (4, 2.5, 2, 4, 4.5, 5)],
    "device": "a CPU",
}
RUNS = [
    (kind, run) for kind in judges.KINDS for run in judges.planned(kind, COUNTS, SAMPLES, BATCH)
]


def rows():
    """The right ones."""
    found = []
    for (kind, (count, samples, batch)), epochs in zip(RUNS, KNOWN["epochs"], strict=True):
        rate = samples / epochs[2]
        alone = (
            rate
            if count == 1
            else next(row["throughput"] for row in found if row["scaling"] == kind)
        )
        values = (
            kind,
            count,
            batch,
            samples,
            epochs[2],
            rate,
            rate / alone,
            rate / alone / count,
            "a CPU",
        )
        found.append(dict(zip(judges.RESULTS.names, values, strict=True)))
    return found


def test_what_is_right_has_no_problem():
    assert ("", "") == judges.plan_problem([run for _, run in RUNS], KNOWN)
    assert ["", "", "", ""] == [
        judges.RESULTS.problem(rows()),
        judges.row_problem(rows()),
        judges.time_problem(rows(), KNOWN),
        judges.whole_problem(rows()),
    ]


@pytest.mark.parametrize(
    ("run", "words"),
    [
        pytest.param(
            (2, SAMPLES, BATCH),
            "so the whole batch grows",
            id="Lab 02's",
        ),
        pytest.param(
            (2, SAMPLES, 2 * BATCH),
            "the batch of all processes as that of each",
            id="the batch of all",
        ),
        pytest.param(
            (2, 2 * SAMPLES, 2 * BATCH),
            "changes the batch of each process",
            id="weak with larger batches",
        ),
        pytest.param(
            (2, 2 * SAMPLES, BATCH // 2),
            "changes the batch of each process",
            id="weak with smaller batches",
        ),
        pytest.param((2, SAMPLES // 2, BATCH), "the samples of one process", id="samples of one"),
        pytest.param((3, 5.0, 7.0), "belongs to neither kind", id="whatever"),
        pytest.param((0, 5.0, 7.0), "belongs to neither kind", id="no process"),
    ],
)
def test_a_run_that_nobody_wants_is_recognised(run, words):
    measured, why = judges.plan_problem([run], KNOWN)

    assert f"run({run[0]}, " in measured
    assert words in why


@pytest.mark.parametrize(
    ("runs", "measured", "why"),
    [
        pytest.param(
            [],
            "run(1, 96, 12) was never",
            "strong scaling",
            id="none",
        ),
        pytest.param(
            RUNS[:3],
            "run(1, 96, 12) was run only once",
            "weak scaling",
            id="no weak",
        ),
        pytest.param(
            RUNS[:4],
            "run(2, 192, 12) was never",
            "weak scaling",
            id="one weak",
        ),
    ],
)
def test_a_run_that_is_missing_is_named(runs, measured, why):
    found = judges.plan_problem([run for _, run in runs], KNOWN)

    assert measured in found[0]
    assert f"{why} must make this run" == found[1]


def changed(at, **cells):
    table = rows()
    table[at].update(cells)
    return table


ODD_ROWS = {
    "nothing": ([], "there are no rows"),
    "text": (changed(1, seconds="2 s"), "it must be a number"),
    "no time": (
        changed(1, seconds=0.0),
        "seconds of scaling strong, processes 2 is 0, and has to be above 0",
    ),
    "half a process": (changed(1, processes=1.5), "is 1.5, and has to be a whole number"),
    "no device": (changed(1, device=" "), "the device is not named"),
    "two machines": (changed(1, device="a GPU"), "the rows are from two machines"),
    "one kind": (rows()[:3], "scaling is strong; strong and then weak"),
    "weak first": ([*rows()[3:], *rows()[:3]], "scaling is weak, strong"),
    "begins with two": (rows()[1:], "the first row of strong scaling has 2 processes"),
    "a fixed batch": (changed(1, batch_size=12), "96 and 6 are right"),
    "fewer samples": (
        changed(4, samples=96, throughput=96 / 4.5),
        "192 and 12 are right",
    ),
    "another rate": (
        changed(1, throughput=1.0),
        "throughput of scaling strong, processes 2 is 1, but samples",
    ),
    "upside down": (
        changed(1, speedup=0.625, efficiency=0.3125),
        "is 0.625: that is the ratio upside down (1.6 is right)",
    ),
    "not so fast": (
        changed(1, speedup=1.5, efficiency=0.75),
        "is 1.5: speedup must be throughput / that of one process (1.6",
    ),
    "seconds over seconds": (
        changed(4, speedup=4 / 4.5, efficiency=2 / 4.5),
        "that is seconds / seconds, although the work has grown (1.778",
    ),
    "percent": (changed(1, efficiency=80.0), "but speedup / processes is 0.8: it is in percent"),
}


@pytest.mark.parametrize(("table", "words"), ODD_ROWS.values(), ids=ODD_ROWS)
def test_rows_that_contradict_themselves_are_named(table, words):
    assert words in (judges.RESULTS.problem(table) or judges.row_problem(table))


SECONDS = {
    "with the first": (2.5 * 1.15, "your code includes the first epoch"),
    "mean of all": (2.5 * 14 / 6, "the mean, with the first epoch"),
    "mean": (2.5 * 1.2, "which follows one slow epoch"),
    "fastest": (2.5 * 0.7, "the fastest epoch"),
    "all": (2.5 * 14, "adds up all epochs"),
    "first": (2.5 * 8, "takes the first epoch"),
    "whatever": (2.6, "that is 1.04 times the median"),
}


@pytest.mark.parametrize(("seconds", "words"), SECONDS.values(), ids=SECONDS)
def test_seconds_of_another_kind_are_recognised(seconds, words):
    assert words in judges.time_problem(changed(1, seconds=seconds), KNOWN)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        pytest.param(
            changed(2, device="a GPU"), "the device is given as 'a GPU'", id="another device"
        ),
        pytest.param(changed(2, samples=95), "are not those of its run", id="another run"),
    ],
)
def test_rows_of_other_runs_are_named(table, words):
    assert words in judges.time_problem(table, KNOWN)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        pytest.param(
            [*rows()[:1], *rows()[3:]],
            "strong scaling is measured with processes 1;",
            id="one process",
        ),
        pytest.param(
            [*rows(), rows()[-1]], "weak scaling is measured with processes 1, 2, 4, 4", id="twice"
        ),
        pytest.param(
            changed(1, efficiency=2.5),
            "efficiency of scaling strong, processes 2 is 2.5",
            id="a dream",
        ),
    ],
)
def test_a_table_that_shows_nothing_is_named(table, words):
    assert words in judges.whole_problem(table)


def both(figure, first, second, right=(3.0, 2.0)):
    own = {f"{figure}0": np.array(first), f"{figure}1": np.array(second)}
    each = {"own": [[3.0, 1.0], [2.0, 2.0]]}
    trusted = Observation("p", "ok", each, {f"{figure}0": np.array(right)})
    return Pair(Observation("p", "ok", {}, own), trusted)


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        pytest.param(
            [3.0, 1.5],
            [2.0, 2.0],
            "different losses: usually each returns its own",
            id="not shared",
        ),
        pytest.param([2.5, 1.5], [2.5, 1.5], "usually a shorter last batch", id="a mean of means"),
    ],
)
def test_losses_that_differ_between_processes_are_told_from_those_that_do_not(first, second, words):
    assert words in judges.loss_cause(both("losses", first, second))[0]


TIMES = {
    "not shared": ([3.0, 1.0], [2.0, 2.0], "different times: usually each returns its own"),
    "loading left out": ([2.5, 1.5], [2.5, 1.5], "leaves loading out"),
    "never started again": ([3.0, 5.0], [3.0, 5.0], "from the start of the first epoch"),
    "a sum": ([5.0, 3.0], [5.0, 3.0], "not on the slowest: they return the sum of their times"),
    "the fastest": ([2.0, 1.0], [2.0, 1.0], "the time of the fastest"),
    "half": ([1.5, 1.0], [1.5, 1.0], "each time is 0.5 times the slowest process's"),
    "of one epoch": ([5.0], [5.0], "not on the slowest"),
}


@pytest.mark.parametrize(("first", "second", "words"), TIMES.values(), ids=TIMES)
def test_a_time_that_is_not_the_slowest_is_told_by_what_it_is(first, second, words):
    assert words in judges.time_cause(both("seconds", first, second), 0.5, 1e-3)[0]


def test_a_factor_is_told_without_a_cause_because_a_clock_or_a_division_gives_it():
    why, try_ = judges.time_cause(both("seconds", [1.5, 1.0], [1.5, 1.0]), 0.5, 1e-3)

    assert why.endswith("0.5 times the slowest process's")
    assert try_.endswith("without a factor")
