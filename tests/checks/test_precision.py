"""What recorders saw of mixed precision: dtypes by kind of operator, and the order of calls on a GradScaler."""

from __future__ import annotations

import math

import numpy as np
import pytest

from autograder.checks import precision
from autograder.model import Failed, Observation, Pair, Passed
from autograder.probe import Tolerance

GOOD = {
    "convolution": {"bfloat16": 2},
    "matrix product": {"float16": 2},
    "softmax": {"float32": 1},
    "loss": {"float32": 2},
    "parameters": {"float32": 12},
}
STEP = ["scale", "backward", "step", "update"]
CLIPPED = ["scale", "backward", "unscale_", "step", "update"]


def dtypes(**changes):
    return precision.dtypes_where_they_help({**GOOD, **changes}, on_gpu=True, try_="try")


def test_half_precision_where_autocast_gives_it_passes():
    assert isinstance(dtypes(), Passed)


def test_softmax_in_half_precision_is_autocasts_own_choice_on_a_cpu():
    """And it is said, since the check's line says 32 bits."""
    found = [
        precision.dtypes_where_they_help({**GOOD, "softmax": {dtype: 1}}, on_gpu=False, try_="try")
        for dtype in ("bfloat16", "float32")
    ]

    assert [True, True] == [isinstance(one, Passed) for one in found]
    assert [True, False] == [precision.ON_A_CPU in one.measured for one in found]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        pytest.param(
            {"convolution": {"float32": 2}},
            "convolution did not run in half precision",
            id="no autocast",
        ),
        pytest.param(
            {"matrix product": {"float16": 1, "float32": 1}},
            "matrix product did not",
            id="only in part",
        ),
        pytest.param(
            {"softmax": {"float16": 1}}, "softmax ran in half precision", id="softmax on a GPU"
        ),
        pytest.param(
            {"loss": {"bfloat16": 1}}, "loss ran in half precision", id="loss outside autocast"
        ),
        pytest.param(
            {"backward": {"inside autocast": 8}},
            "end the with block before backward()",
            id="backward inside",
        ),
        pytest.param(
            {"parameters": {"bfloat16": 12}},
            "the weights themselves are 16 bits wide",
            id="model.half()",
        ),
    ],
)
def test_other_dtypes_fail_with_what_went_wrong(changes, why):
    verdict = dtypes(**changes)

    assert isinstance(verdict, Failed)
    assert why in verdict.why


def test_nothing_seen_is_no_pass():
    verdict = precision.dtypes_where_they_help({}, on_gpu=False, try_="try")

    assert (
        Failed(
            "the grader saw no convolution and no matrix product",
            "the model was never called as model(images)",
            "call outputs = model(images) for each batch",
        )
        == verdict
    )


PLAIN = np.array([1.5, 1.25, 1.0])
HALVES = {
    "bfloat16": np.add(PLAIN, [0.03, -0.04, 0.0]),
    "float16": np.add(PLAIN, [0.0, 0.004, 0.003]),
}


def rounded(losses):
    return precision.rounded_as(np.array(losses), PLAIN, HALVES, try_="try")


@pytest.mark.parametrize("name", HALVES)
@pytest.mark.parametrize("off", [0.0, 0.001])
def test_losses_near_those_of_a_trusted_half_precision_run_pass(name, off):
    assert isinstance(rounded(HALVES[name] + off), Passed)


@pytest.mark.parametrize(
    ("losses", "measured", "why"),
    [
        pytest.param(
            PLAIN,
            "the losses are FP32's; autocast in float16 moves losses by 5.0e-03",
            "that is FP32",
            id="FP32",
        ),
        pytest.param(
            PLAIN + 1e-4,
            "the losses are FP32's",
            "that is FP32",
            id="FP32 in another order",
        ),
        pytest.param(
            np.add(PLAIN, [-0.03, 0.03, 0.03]),
            "losses are 5.2e-02",
            "neither those of FP32 nor those of autocast",
            id="noise",
        ),
        pytest.param(
            PLAIN[:2], "2 losses for 3 batches", "the loop ended after 2 of 3 batches", id="too few"
        ),
        pytest.param(
            [1.5, math.nan, 1.0], "the loss of batch 2 is nan", "a finite number", id="NaN"
        ),
        pytest.param([1e308, -1e308, 1.0], "losses are inf", "wrong in any precision", id="huge"),
    ],
)
def test_other_losses_fail_with_how_far_they_are(losses, measured, why):
    verdict = rounded(losses)

    assert isinstance(verdict, Failed)
    assert measured in verdict.measured
    assert why in verdict.why


@pytest.mark.parametrize(
    "events",
    [
        pytest.param(STEP * 2, id="plain"),
        pytest.param(CLIPPED * 2, id="with unscale_"),
        pytest.param(STEP + CLIPPED, id="clipped now and then"),
    ],
)
def test_the_order_of_a_scaler_passes(events):
    assert isinstance(precision.scaler_in_order(events, 2), Passed)


@pytest.mark.parametrize(
    ("events", "measured", "why"),
    [
        pytest.param([], "0 of 2 steps use", "never used", id="nothing"),
        pytest.param(
            [precision.UNSCALED, "optimizer.step"],
            "0 of 2 steps use",
            "never used",
            id="not used",
        ),
        pytest.param(
            STEP + STEP[:3],
            "step 2 (of 2 batches) is scale",
            "scaler.update is missing",
            id="no update",
        ),
        pytest.param(
            STEP,
            "1 step came for 2 batches",
            "some batches have no step",
            id="a step is missing",
        ),
        pytest.param(
            STEP * 3, "3 steps came for 2 batches", "some batch has two steps", id="a step too many"
        ),
        pytest.param(
            ["scale", "backward", "optimizer.step", "update"],
            "step 1 (of 2",
            "scaled gradients",
            id="plain step",
        ),
        pytest.param(
            ["scale", precision.UNSCALED, "step", "update"],
            "step 1 (of 2",
            "backward ran on the loss",
            id="loss",
        ),
        pytest.param(
            ["scale", "backward", "step", "update", "update"],
            "step 2 (of 2",
            "scaler.scale is",
            id="update twice",
        ),
        pytest.param(
            ["unscale_", *STEP], "step 1 (of 2", "the order is wrong", id="unscale_ first"
        ),
    ],
)
def test_another_order_fails_and_shows_what_was_seen(events, measured, why):
    verdict = precision.scaler_in_order(events, 2)

    assert isinstance(verdict, Failed)
    assert measured in verdict.measured
    assert why in verdict.why


def trained(after, steps, weights=(1.0, 2.0)):
    arrays = {"start": np.float32([0.0, 0.0]), "weights": np.float32(weights)}
    values = {"before": 512.0, "after": after, "steps": steps}
    return Observation("overflow", "ok", values=values, arrays=arrays)


@pytest.mark.parametrize(
    ("after", "steps", "weights", "why"),
    [
        pytest.param(256.0, 7, (1.0, 2.0), "", id="right"),
        pytest.param(512.0, 4, (0.5, 1.0), "batches besides the overflowing one", id="skipped"),
        pytest.param(128.0, 5, (0.7, 1.0), "halved several times", id="gradients stayed"),
        pytest.param(512.0, 7, (1.0, 2.0), "the scale was not halved once", id="another scaler"),
        pytest.param(256.0, 7, (2.1, 1.3), "steps other than the overflowing one", id="changed"),
        pytest.param(256.0, 7, (0.1, 0.2), "gradients are clipped", id="clipped"),
    ],
)
def test_a_step_that_overflows_is_the_only_one_that_is_left_out(after, steps, weights, why):
    run = Pair(trained(after, steps, weights), trained(256.0, 7))

    found = precision.overflow_skipped(run, 0.02)

    assert why in getattr(found, "why", "")
    assert bool(why) == isinstance(found, Failed)


@pytest.mark.parametrize(
    ("ratio", "why"),
    [
        pytest.param(4.4, "gradients pile up", id="sums"),
        pytest.param(2.0, "each step is taken twice", id="twice"),
        pytest.param(0.5, "steps are left out", id="half"),
        pytest.param(1.0, "", id="as far"),
    ],
)
def test_later_losses_are_told_by_how_far_the_weights_moved(ratio, why):
    start, losses = np.zeros(4), np.array([2.0, 1.5])

    def side(moved, second):
        arrays = {"start": start, "weights": moved, "losses": np.array([2.0, second])}
        return Observation("amp", "ok", values={}, arrays=arrays)

    run = Pair(side(np.full(4, ratio + 0.01), 1.0), side(np.ones(4), losses[1]))
    found = precision.why_apart(run, Tolerance(losses=1e-3, weights=1e-3))

    assert found == precision.UNEVEN if not why else found.endswith(f"usually because {why}")


@pytest.mark.parametrize(
    ("losses", "why"),
    [
        pytest.param([0.0, 0.0], "wrong", id="never written"),
        pytest.param([1.0, 1.0], "wrong", id="whole numbers"),
        pytest.param([0.7109375, 0.61328125], "16-bit numbers", id="bfloat16"),
        pytest.param([91.2, 78.4], "wrong: usually they are scaled", id="scaled"),
        pytest.param([1e300, 1e300], "wrong: usually they are scaled", id="no float32"),
    ],
)
def test_losses_of_few_bits_are_told_as_rounded_only_near_the_right_ones(losses, why):
    def side(own):
        arrays = {"weights": np.array([0.123456, 0.7654321]), "losses": np.array(own)}
        return Observation("amp", "ok", values={}, arrays=arrays)

    run = Pair(side(losses), side([0.7123456, 0.6123456]))
    found = precision.why_apart(run, Tolerance(losses=1e-3, weights=1e-3))

    assert found == f"the weights are right, but the returned losses are {why}"
