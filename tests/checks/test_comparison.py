"""A table of two trainings: its form, what a scripted clock says of it, and what the maker of trainings logged."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autograder.checks import comparison
from autograder.checks.comparison import RESULTS
from autograder.checks.slips import Epoch

EPOCHS = [Epoch(samples=60, batches=4, wait=2.0, work=work, cold=5.0) for work in (1.0, 0.25)]


def row(precision="FP32", **changes):
    """A right row: 60 samples in 6 s, or in 3."""
    seconds = 6.0 if precision == "FP32" else 3.0
    right = {
        "precision": precision,
        "throughput": 60 / seconds,
        "epoch_time": seconds,
        "peak_memory_mb": None,
    }
    return {**right, "accuracy": 50.0, "speedup": 6.0 / seconds, "device": "a CPU", **changes}


def rows(**changes):
    """Both rows, the AMP row with changes."""
    return [row(), row("AMP", **changes)]


def training(**changes):
    """One measured epoch in FP32."""
    return {
        "fresh": True,
        "full": 4,
        "half": 0,
        "back": 4,
        "scaled": 0,
        "misplaced": 0,
        "alive": [],
        **changes,
    }


def amp(**changes):
    """One measured epoch in AMP."""
    return training(full=0, half=4, scaled=4) | changes


def said(problem):
    return "" if problem is None else problem[0]


def seen(problem):
    return "" if problem is None else problem[2]


def test_right_rows_have_no_problem():
    trainings = [training(full=2), training(), amp(half=2, scaled=2), amp()]

    assert "" == RESULTS.problem(rows())
    assert "" == RESULTS.machine_problem(rows(), "a CPU", on_gpu=False)
    assert "" == comparison.time_problem(rows(), EPOCHS)
    assert comparison.epoch_problem(trainings, 4) is None
    assert comparison.training_problem(trainings, 4) is None
    assert comparison.accuracy_problem(rows(), 60, 50.0) is None


@pytest.mark.parametrize(
    ("found", "why"),
    [
        pytest.param([row()], "ends after row 1; missing: AMP", id="one row"),
        pytest.param(rows(speedup="1.5x"), "speedup of AMP is '1.5x'", id="a unit"),
        pytest.param(rows(epoch_time=-1.0), "epoch_time of AMP is -1, and has to be above 0", id="negative"),
        pytest.param(rows(accuracy=101.0), "accuracy of AMP is 101, and has to be at most 100", id="more than all"),
        pytest.param(rows(device=" "), "the device is not named", id="no device"),
        pytest.param(rows(device=None), "the device is not named", id="None for the device"),
        pytest.param(rows(peak_memory_mb="none"), "peak_memory_mb of AMP is 'none'", id="a word"),
        pytest.param(rows(speedup=0.67), "speedup of AMP is 0.67, but throughput / throughput of the first row is 2", id="upside down"),
    ],
)  # fmt: skip
def test_rows_that_are_malformed_or_contradict_themselves(found, why):
    assert why in RESULTS.problem(found)


@pytest.mark.parametrize(
    ("found", "why"),
    [
        pytest.param(rows(), "", id="of a CPU"),
        pytest.param([row(peak_memory_mb=900.0), row("AMP", peak_memory_mb=600.0)], "", id="of a GPU"),
        pytest.param(rows(peak_memory_mb=600.0), "empty in both", id="memory in one row"),
        pytest.param([row(peak_memory_mb=-1), row("AMP", peak_memory_mb=-1)], "above 0 in both", id="negative memory"),
        pytest.param(rows(epoch_time=3.2), "", id="a little more than the training"),
        pytest.param([row(throughput=12000.0, epoch_time=0.03), row("AMP", throughput=22000.0, epoch_time=0.01)], "", id="two decimals of a short epoch"),
        pytest.param(rows(epoch_time=6.0), "throughput x epoch_time is 60 samples in one row and 120", id="an edited time"),
    ],
)  # fmt: skip
def test_rows_of_two_runs(found, why):
    """A table that was put together by hand."""
    problem = comparison.run_problem(found)

    assert (why in problem, bool(why)) == (True, bool(problem))


@pytest.mark.parametrize(
    ("changes", "on_gpu", "why"),
    [
        pytest.param({"device": "cpu"}, False, "the device is given as 'cpu' in the column device; expected 'a CPU'", id="its kind"),
        pytest.param({"device": "a CPU "}, False, "", id="a space"),
        pytest.param({"peak_memory_mb": 0.0}, False, "peak_memory_mb of AMP is 0: no GPU was there to ask, so the cell must stay empty (None is right)", id="0 MB"),
        pytest.param({"peak_memory_mb": ""}, False, "", id="an empty cell"),
        pytest.param({"peak_memory_mb": 9.0}, True, "", id="a GPU's"),
    ],
)  # fmt: skip
def test_a_device_has_its_name_and_a_cpu_no_memory_of_a_gpu(changes, on_gpu, why):
    assert why == RESULTS.machine_problem(rows(**changes), "a CPU", on_gpu=on_gpu)


@pytest.mark.parametrize(
    ("found", "why"),
    [
        pytest.param([row(throughput=60 / 11), row("AMP")], "throughput of FP32 is 5.455 samples/s: the slow first pass", id="cold"),
        pytest.param([row(throughput=8.0), row("AMP")], "the clock is time.time()", id="a clock that is set"),
        pytest.param(rows(throughput=60.0), "the time leaves out the wait for data", id="no wait"),
        pytest.param(rows(throughput=10.0), "it is that of FP32: autocast was not on", id="not on"),
        pytest.param([row(throughput=20.0), row("AMP")], "it is that of AMP: autocast was on", id="on"),
        pytest.param(rows(throughput=12.0), "throughput of AMP is 12 samples/s where 20 is right", id="other"),
        pytest.param(rows(epoch_time=3000.0), "epoch_time of AMP is 3000 s: more than the epoch was timed", id="ms"),
    ],
)  # fmt: skip
def test_figures_that_the_clock_did_not_show(found, why):
    """The mistake is recognised by its number."""
    assert why in comparison.time_problem(found, EPOCHS)


def test_of_two_mistakes_with_nearly_the_same_figure_the_nearer_is_named():
    """An epoch in AMP may be drawn as long as one in FP32 with its slow first step."""
    epochs = [EPOCHS[0], replace(EPOCHS[1], work=2.26)]
    problem = comparison.time_problem(
        [row(throughput=60 / 11.04), row("AMP", throughput=60 / 11.04)], epochs
    )

    assert "it is that of AMP: autocast was on" in problem


@pytest.mark.parametrize(
    ("trainings", "longest"),
    [([], 0), ([training(full=3)], 3), ([amp(half=2)], 2)],
    ids=["none", "FP32", "AMP"],
)
def test_a_comparison_without_a_whole_epoch_says_how_far_it_came(trainings, longest):
    why = f"no training ran the whole epoch: the longest had {longest} of 4 batches"

    assert why == said(comparison.epoch_problem(trainings, 4))


@pytest.mark.parametrize(
    ("trainings", "why"),
    [
        pytest.param([training(full=7)], "was trained before", id="warmed up on itself"),
        pytest.param([training(full=2, half=2)], "was trained before", id="in the other precision"),
        pytest.param([training(fresh=False)], "was trained before", id="a copy of a trained one"),
        pytest.param([training(full=2, half=3)], "was trained before", id="in both, and longer"),
        pytest.param(
            [training(full=2, half=2), training(), amp()], "", id="one warm-up for both precisions"
        ),
        pytest.param([training(full=9), training(), amp()], "", id="a warm-up of two epochs"),
        pytest.param(
            [amp(scaled=0, misplaced=4)],
            "GradScaler switched itself off on this device",
            id="cuda scaler",
        ),
        pytest.param([amp(scaled=0)], "the AMP epoch ran without a GradScaler", id="no scaler"),
        pytest.param(
            [training(full=2), training(alive=[0])],
            "a warm-up model was still in memory",
            id="kept",
        ),
        pytest.param([training(), training(alive=[0])], "", id="another measured one in memory"),
        pytest.param([training(full=2, fresh=False)], "", id="a warm-up may start anywhere"),
        pytest.param(
            [training(full=2, back=0), training()],
            "ran the model and did not train",
            id="forward only",
        ),
        pytest.param(
            [training(full=0, back=0), training()], "", id="one that was made and not used"
        ),
        pytest.param(
            [training(full=1, back=0), training(full=2), training()],
            "",
            id="one look, and a warm-up",
        ),
    ],
)
def test_trainings_that_were_mixed_up(trainings, why):
    found = "; ".join(comparison.training_problem(trainings, 4) or ())

    assert why in found
    assert bool(why) == bool(found)


@pytest.mark.parametrize(
    ("found", "why"),
    [
        pytest.param([row(accuracy=51.0), row("AMP")], "", id="one close call in FP32"),
        pytest.param(
            [row(accuracy=54.0), row("AMP")],
            "accuracy of FP32 is 54 %; fresh weights give 50 %",
            id="FP32",
        ),
        pytest.param(rows(accuracy=45.1), "", id="rounding in AMP"),
        pytest.param(
            rows(accuracy=44.0), "accuracy of AMP is 44 %; fresh weights give 50 %", id="AMP"
        ),
    ],
)
def test_an_accuracy_that_fresh_weights_do_not_give(found, why):
    assert why == seen(comparison.accuracy_problem(found, 60, 50.0))


def test_few_samples_allow_three_close_calls_in_amp():
    assert ["", "accuracy of AMP is 10 %; fresh weights give 50 %"] == [
        seen(comparison.accuracy_problem(rows(accuracy=value), 10, 50.0)) for value in (20.0, 10.0)
    ]
