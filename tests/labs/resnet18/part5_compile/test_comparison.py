"""What was built and when, and a table of two epochs on a known clock: each mistake is said in words of its own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from autograder.checks.slips import Epoch
from autograder.labs.resnet18.part5_compile import comparison, training
from autograder.labs.resnet18.part5_compile.part import RESULTS, part
from autograder.model import Failed, Observation, Pair

EPOCHS = [Epoch(samples=100, batches=10, wait=2.0, work=work, cold=3.5) for work in (0.3, 0.2)]
SCRIPT = {"fetch": 0.5, "forward": 11.0, "backward": 6.0}
SCHEMA = Path(__file__).parents[4] / "assignments/resnet18/schemas/compile_results.schema.json"
PAIR = [
    {"kind": kind, "batch": 0, "half": False, "at": at}
    for kind, at in (("forward", 40.0), ("backward", 51.0))
]


def seen(*built, forward=10, backward=10, parameters=12):
    """What a backend noted of an epoch of ten batches."""
    named = [dict(zip(("kind", "batch", "half"), it, strict=True)) for it in built]
    return {
        "built": named,
        "runs": {"forward": forward, "backward": backward, "inference": 0},
        "parameters": parameters,
        "defaults": 0,
        "breaks": [],
    }


PASSES = ("forward", 0, False), ("backward", 0, False)
HALVES = ("forward", 0, True), ("backward", 0, True)
BUILDS = {
    "nothing": (seen(), seen(*PASSES), False, ""),
    "going back": (seen(PASSES[1]), seen(PASSES[0]), False, "no backward pass"),
    "at the end": (
        seen(("forward", 9, False), ("backward", 9, False)),
        seen(*PASSES),
        False,
        "the last batch has fewer samples",
    ),
    "no warm-up": (seen(*PASSES), seen(), False, "the warm-up built nothing"),
    "no gradients": (seen(*PASSES), seen(PASSES[0]), False, "usually it is under no_grad()"),
    "another mode": (seen(*PASSES), seen(*PASSES), False, "usually the warm-up is in eval()"),
    "full precision": (seen(*HALVES), seen(*PASSES), True, "the warm-up ran without autocast"),
    "half precision": (seen(*PASSES), seen(*HALVES), False, "the warm-up ran under autocast"),
}


@pytest.mark.parametrize(("found", "warm", "half", "words"), BUILDS.values(), ids=BUILDS)
def test_what_is_built_late_tells_what_the_warm_up_lacked(found, warm, half, words):
    measured, why, _ = training.late_build(found, warm, 10, half=half)

    assert bool(words) == bool(measured) == bool(why)
    assert words in why


WHOLE = {
    "whole": (seen(("forward", 0, False)), False, ""),
    "whole, in half precision": (seen(("forward", 0, True), ("backward", 0, True)), True, ""),
    "eager": (seen(forward=0, backward=0), False, "no graph of the given backend ran"),
    "in three pieces": (seen(forward=30, backward=30), False, "in pieces"),
    "one batch short": (seen(forward=9, backward=9), False, "some batches ran no"),
    "one layer": (seen(parameters=2), False, "not the whole model"),
    "half where float32 is asked for": (
        seen(("forward", 0, True)),
        False,
        "without use_amp autocast is on",
    ),
    "float32 where half is asked for": (
        seen(("forward", 0, False)),
        True,
        "with use_amp autocast is off",
    ),
}


@pytest.mark.parametrize(("found", "half", "words"), WHOLE.values(), ids=WHOLE)
def test_an_epoch_is_one_graph_each_way_for_each_batch(found, half, words):
    measured, why = training.whole_problem(found, 10, 12, half=half)

    assert bool(words) == bool(measured) == bool(why)
    assert words in why


def rows(first=None, second=None):
    """Two right rows with what is asked for changed."""
    eager = dict(zip(RESULTS.names, ("Eager", 20.0, 5.0, 0.0, 2.0, 1.0, "a CPU"), strict=True))
    compiled = dict(
        zip(RESULTS.names, ("Compiled", 25.0, 4.0, 18.0, 2.0, 1.25, "a CPU"), strict=True)
    )
    return [eager | (first or {}), compiled | (second or {})]


def test_right_rows_have_no_problem():
    found = rows()

    assert "" == RESULTS.problem(found)
    assert "" == comparison.row_problem(found)
    assert "" == comparison.figure_problem(found, found[0])
    assert "" == comparison.time_problem(found, EPOCHS, SCRIPT)


ROWS = {
    "no rows": ([], "there are no rows"),
    "the other way round": (rows()[::-1], "row 1 is Compiled"),
    "text for a number": (rows({}, {"speedup": "1.25x"}), "speedup of Compiled is '1.25x'"),
    "no throughput": (rows({"throughput": 0.0}), "throughput of Eager is 0, and has to be above 0"),
    "no device": (rows({}, {"device": " "}), "the device is not named"),
    "a number for a device": (rows({}, {"device": 1.0}), "the device is not named"),
    "upside down": (
        rows({}, {"speedup": 0.8}),
        "speedup of Compiled is 0.8, but throughput / throughput of the first row is 1.25",
    ),
    "a cold eager": (rows({"compile_s": 3.0}), "compile_s of Eager is 3"),
    "no cold start": (rows({}, {"compile_s": 0.0}), "the cold start is missing"),
    "NaN for a cold start": (rows({}, {"compile_s": float("nan")}), "the cold start is missing"),
    "far apart": (rows({}, {"loss": 1.3}), "the two losses are far apart"),
}


@pytest.mark.parametrize(("found", "words"), ROWS.values(), ids=ROWS)
def test_rows_that_contradict_themselves(found, words):
    assert words in (RESULTS.problem(found) or comparison.row_problem(found))


def test_rounding_that_grew_is_no_contradiction():
    """Twenty batches of a chaotic training were 16 % apart in the mean, with nothing wrong."""
    assert "" == comparison.row_problem(rows({}, {"loss": 2.4}))


FIGURES = {
    "trained before": (
        rows({"loss": 1.9}),
        f"loss of Eager is 1.9: {comparison.TRAINED} (2 is right)",
    ),
    "a little apart": (
        rows({"loss": 2.00025}),
        f"loss of Eager is 2.00025: {comparison.TRAINED} (2 is right)",
    ),
    "another device": (
        rows({}, {"device": "a GPU"}),
        "the device is given as 'a GPU' in the column device; expected 'a CPU'",
    ),
}


@pytest.mark.parametrize(("found", "words"), FIGURES.values(), ids=FIGURES)
def test_figures_that_have_nothing_to_do_with_time(found, words):
    assert words in comparison.figure_problem(found, rows()[0])


def slow(seconds):
    """The compiled row of an epoch that took so much longer."""
    return rows({}, {"throughput": 100 / (4.0 + seconds)})


TIMES = {
    "cold": (
        rows({"throughput": 100 / 8.5}),
        "throughput of Eager is 11.76 samples/s: the slow first pass",
    ),
    "without the wait": (rows({"throughput": 100 / 3}), "the time leaves out the wait for data"),
    "compiled already": (rows({"throughput": 25.0}), "it is the speed of Compiled"),
    "not compiled": (rows({}, {"throughput": 20.0}), "it is the speed of Eager"),
    "built going back": (slow(6.0), "the backward graph was built in the measured epoch"),
    "built for a shape": (
        slow(17.0),
        "a forward and a backward graph were built in the measured epoch",
    ),
    "all built": (slow(34.0), "it includes builds"),
    "of no story": (rows({"throughput": 77.0}), "20 is right"),
    "half an epoch": (rows({"epoch_time": 2.5}), "epoch_time of Eager is 2.5 s where 5 is right"),
}


@pytest.mark.parametrize(("found", "words"), TIMES.values(), ids=TIMES)
def test_figures_of_another_time(found, words):
    assert words in comparison.time_problem(found, EPOCHS, SCRIPT)


COLD = {
    "the builds alone": (17.0, PAIR, ""),
    "with the steps of two epochs": (27.0, PAIR, ""),
    "each shape by itself": (34.5, PAIR * 2, ""),
    "after a look through the loader": (37.5, PAIR * 2, ""),
    "and what follows of the epoch": (39.0, PAIR * 2, "it includes the measured epoch"),
    "one of two shapes": (17.0, PAIR * 2, "it leaves out builds"),
    "what torch.compile takes to return": (0.01, PAIR, "it leaves out builds"),
    "nothing was seen to be built": (0.01, [], "the builds took 17 s: it leaves out builds"),
    "a warm-up and what follows": (90.0, PAIR, "it is more than a warm-up"),
    "in milliseconds": (17500.0, PAIR, "it is in milliseconds"),
    "in minutes": (0.29, PAIR, "it is in minutes"),
}


@pytest.mark.parametrize(("told", "built", "words"), COLD.values(), ids=COLD)
def test_the_cold_start_is_the_time_of_the_warm_up(told, built, words):
    found = comparison.cold_problem(told, EPOCHS[0], SCRIPT, built, 75.0)

    assert words in found
    assert bool(words) == bool(found)


@pytest.mark.parametrize(
    ("full", "half", "built", "words"),
    [
        pytest.param(0, 9, [True, True], "", id="both under autocast"),
        pytest.param(9, 0, [True, True], "Eager ran in float32", id="only the compiled one"),
        pytest.param(5, 9, [True, True], "Eager ran in float32", id="its epoch without"),
        pytest.param(
            0, 4, [True, True], "Eager did not run each batch", id="less than an epoch of it"
        ),
        pytest.param(
            0, 9, [False, False], "Compiled did not run in bfloat16", id="only the eager one"
        ),
        pytest.param(
            0, 9, [True, False], "Compiled did not run in bfloat16", id="one of its graphs"
        ),
        pytest.param(0, 9, [], "Compiled did not run in bfloat16", id="nothing was built"),
    ],
)
def test_both_epochs_follow_use_amp(full, half, built, words):
    found = comparison.mode_problem(
        {"float32": full, "bfloat16": half}, [{**PAIR[0], "half": it} for it in built], 5
    )

    assert words in found
    assert bool(words) == bool(found)


@pytest.mark.parametrize(
    ("eager", "words"),
    [
        ({"bfloat16": 1}, "must run through the model"),
        ({"float16": 9}, "another dtype"),
        ({"float32": 9}, "does not reach"),
        ({"float32": 9, "float16": 9}, "does not reach"),
    ],
)
def test_an_epoch_that_does_not_follow_use_amp_has_a_cause_of_its_own(eager, words):
    mode = comparison.mode_problem(eager, PAIR, comparison.HALVED)

    assert words in comparison._mode_cause(mode)[0]


def test_an_answer_that_counts_no_runs_is_judged():
    noted = {**seen(), "runs": {}}
    values = {"batches": 5, "parameters": 12, "fp32_warm": noted, "fp32_epoch": noted}
    arrays = {"fp32_losses": np.zeros(3)}
    side = Observation("training", "ok", values, arrays)

    verdict = part.checks["one_graph_a_batch"].judge(training=Pair(side, side))

    assert isinstance(verdict, Failed)
