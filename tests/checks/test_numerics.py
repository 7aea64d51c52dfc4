"""Numbers against a trusted run's: what passes, what fails, and that nothing a worker sends is a fault of ours."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from autograder.checks import numerics
from autograder.model import Failed, Observation, Pair, Passed
from autograder.probe import Tolerance

WITHIN = Tolerance(losses=0.01, weights=0.01)
LOSSES = [1.5, 1.25, 1.0]
WEIGHTS = [3.0, 4.0]


def seen(losses=LOSSES, weights=WEIGHTS, start=(0.0, 0.0)):
    arrays = {"losses": np.array(losses, "float64"), "weights": np.array(weights, "float32")}
    return Observation("p", "ok", arrays={**arrays, "start": np.array(start, "float32")})


def judged(student):
    return numerics.same_trajectory(Pair(student, seen()), WITHIN, why="why", try_="try")


@pytest.mark.parametrize(
    "student",
    [
        pytest.param(seen(), id="the same"),
        pytest.param(seen(losses=[1.505, 1.25, 0.995]), id="losses within tolerance"),
        pytest.param(seen(weights=[3.01, 4.01]), id="weights within tolerance"),
    ],
)
def test_a_training_that_follows_passes(student):
    assert isinstance(judged(student), Passed)


@pytest.mark.parametrize(
    ("first", "why"),
    [
        pytest.param(3.0, "the first loss is 2 times the right one", id="doubled"),
        pytest.param(4.504, "the first loss is 3 times the right one", id="tripled, and rounded"),
        pytest.param(2.9, "why", id="no multiple"),
        pytest.param(1.6, "why", id="another"),
        pytest.param(-3.0, "why", id="negative"),
        pytest.param(1.7e308, "why", id="as large as can be sent"),
    ],
)
def test_a_first_loss_that_is_a_multiple_is_told(first, why):
    assert judged(seen(losses=[first, 1.25, 1.0])).why.startswith(why)


def test_a_right_loss_of_0_has_no_multiple():
    pair = Pair(seen(), seen(losses=[0.0, 1.25, 1.0]))

    assert numerics.same_trajectory(pair, WITHIN, why="why", try_="try").why == "why"


@pytest.mark.parametrize(
    ("student", "measured"),
    [
        pytest.param(seen(losses=[1.5, 1.25]), "2 losses for 3 batches", id="too few losses"),
        pytest.param(seen(losses=[]), "0 losses for 3 batches", id="no losses"),
        pytest.param(seen(losses=[1.5]), "1 loss for 3 batches", id="one loss"),
        pytest.param(seen(losses=[1.5, math.nan, 1]), "the loss of batch 2 is nan", id="a NaN"),
        pytest.param(
            seen(losses=[1.5, 1.25, -math.inf]), "the loss of batch 3 is -inf", id="an infinity"
        ),
        pytest.param(
            seen(weights=[math.nan, 4]), "1 of 2 weights are NaN or infinite", id="a NaN weight"
        ),
        pytest.param(
            seen(losses=[1.5, 1.27, 1]),
            "losses off by up to 2.0e-02 (allowed 1.0e-02)",
            id="losses apart",
        ),
        pytest.param(
            seen(weights=[3.1, 4]), "weights off by 2 % (allowed 1 %)", id="weights apart"
        ),
        pytest.param(seen(weights=[3]), "weights off by inf %", id="other weights"),
        pytest.param(
            seen(losses=[1e308, -1e308, 1]), "losses off by up to 1.0e+308", id="huge losses"
        ),
        pytest.param(seen(weights=[3e38, -3e38]), "weights off by", id="huge weights"),
    ],
)
def test_a_training_that_does_not_follow_fails_with_what_was_measured(student, measured):
    verdict = judged(student)

    assert isinstance(verdict, Failed)
    assert measured in verdict.measured


@pytest.mark.parametrize(
    ("weights", "narrow"),
    [
        pytest.param([0.1, 1e-3], False, id="float32"),
        pytest.param([0.10009765625, 0.5], True, id="float16"),
        pytest.param([0.100097656, 3e38], False, id="beyond float16"),
        pytest.param([0.5, 2.0**100], True, id="bfloat16"),
        pytest.param([], False, id="none"),
    ],
)
def test_weights_of_16_bits_are_recognised(weights, narrow):
    assert narrow == numerics.sixteen_bits(np.array(weights, "float32"))


@pytest.mark.parametrize(
    ("weights", "start", "error", "ratio"),
    [
        pytest.param([3, 4], [0, 0], 0, 1, id="the same update"),
        pytest.param([0.3, 0.4], [0, 0], 0.9, 0.1, id="a tenth of it"),
        pytest.param(
            [0.3, 0.4], [9, 9], 0.9, 0.1, id="what the student says about the start does not count"
        ),
        pytest.param([math.nan, 4], [0, 0], math.inf, math.inf, id="a NaN"),
        pytest.param([3], [0, 0], math.inf, math.inf, id="other weights"),
    ],
)
def test_updates_are_compared_by_error_and_ratio(weights, start, error, ratio):
    found = numerics.update(Pair(seen(weights=weights, start=start), seen()))

    assert (pytest.approx(error), pytest.approx(ratio)) == (found.error, found.ratio)


@pytest.mark.parametrize(
    ("value", "expected", "holds"),
    [
        (1.004, 1.0, True),
        (1.02, 1.0, False),
        (None, 1.0, False),
        (5.0, math.inf, False),
        (0.0, 0.0, True),
    ],
)
def test_close_is_relative_and_false_without_a_number(value, expected, holds):
    assert holds == numerics.close(value, expected, 0.01)


def test_a_usual_mistake_is_recognised_by_its_number():
    stories = [(10.0, "ten"), (20.0, "twenty")]

    assert ["twenty", "", ""] == [
        numerics.explained(value, stories, 0.01) for value in (20.1, 15.0, None)
    ]


def test_of_two_mistakes_with_numbers_close_together_the_nearer_is_named():
    stories = [(20.15, "by chance"), (20.0, "the one made")]

    assert "the one made" == numerics.explained(20.01, stories, 0.01)


def test_means_may_be_weighted_and_huge():
    assert [2.0, 1.5, math.inf] == [
        numerics.mean(np.array([1.0, 3.0])),
        numerics.mean(np.array([1.0, 3.0]), [3, 1]),
        numerics.mean(np.array([1e308, 1e308])),
    ]


def test_a_value_is_shown_in_four_digits_or_as_python_writes_it():
    assert ["1.235", "None", "'2.1x'"] == [
        numerics.shown(value) for value in (1.23456, None, "2.1x")
    ]


def test_series_of_different_lengths_are_infinitely_far_apart():
    assert math.inf == numerics.furthest(np.array([1.0]), np.array([1.0, 2.0]))


def test_shares_are_what_json_can_say():
    """Three digits; what is not finite has no share."""
    assert {"shares": {"losses": 0.123}} == numerics.shares(
        losses=0.12345, weights=float("inf"), other=float("nan")
    )


@pytest.mark.parametrize(
    ("apart", "allowed", "expected"),
    [(1.0, 4.0, 0.25), (0.0, 0.0, 0.0), (1e-9, 0.0, math.inf)],
    ids=str,
)
def test_where_nothing_is_allowed_the_least_is_endless(apart, allowed, expected):
    """Whole numbers are compared exactly."""
    assert expected == numerics.share(apart, allowed)


@pytest.mark.parametrize(
    ("losses", "why"),
    [
        ([1.5], "only one loss is returned"),
        ([1.5, 1.2], "batches are skipped"),
        ([], "batches are skipped"),
    ],
)
def test_an_epoch_of_fewer_losses_than_batches_says_why(losses, why):
    found = numerics.same_trajectory(
        Pair(seen(losses=losses), seen()), WITHIN, why="because", try_="try"
    )

    assert why in found.why


EPOCH = numerics.Trained(
    np.array([0.2, 0.6, 0.7, 0.7]), [8, 8, 8, 2], [2, 1, 7, 2], ["batches"]
)  # 12 of 26
METRICS = {
    "right": ({}, ""),
    "a mean by samples": ({"loss": 13.4 / 26}, "yours is weighted by the samples of each batch"),
    "one close call": ({"accuracy": 1300 / 26}, ""),
    "the last loss": (
        {"loss": 0.7},
        "the mean over all batches is 0.55; yours is the loss of the last batch",
    ),
    "one batch too many": ({"loss": 2.2 / 5}, "yours was divided by one batch too many"),
    "over the samples": ({"loss": 2.2 / 26}, "yours was divided by the samples"),
    "no loss": ({"loss": None}, "the mean over all batches is 0.55; yours is no such number"),
    "a fraction": ({"accuracy": 12 / 26}, "it is a fraction"),
    "the accuracies so far": (
        {"accuracy": 25 * (2 / 8 + 3 / 16 + 10 / 24 + 12 / 26)},
        "mean of the accuracies so far",
    ),
    "the batches' accuracies": (
        {"accuracy": 25 * (2 + 1 + 7 + 8) / 8},
        "mean of the batches' accuracies",
    ),
    "the first batch's": ({"accuracy": 25.0}, "that of the first batch alone"),
    "a full last batch": ({"accuracy": 1200 / 32}, "the last batch was counted as a full one"),
    "counted twice": ({"accuracy": 2400 / 26}, "each batch is counted twice"),
    "more than all": ({"accuracy": 130.0}, "more than all of them"),
    "something": ({"accuracy": 60.0}, "the right accuracy is 46.15 %"),
    "no accuracy": ({"accuracy": None}, "the right accuracy is 46.15 %"),
}


@pytest.mark.parametrize(("told", "why"), METRICS.values(), ids=METRICS)
def test_loss_and_accuracy_are_of_the_epoch_and_a_usual_mistake_is_named(told, why):
    told = {"loss": 0.55, "accuracy": 1200 / 26, **told}
    found = numerics.loss_problem(told["loss"], EPOCH.losses, EPOCH, [], 1e-4)
    found = found or numerics.accuracy_problem(told["accuracy"], EPOCH)

    assert (bool(why), True) == (bool(found), why in (found or ("", ""))[0])


@pytest.mark.parametrize(("dtype", "most"), [("bfloat16", 256), ("float16", 2048)])
def test_a_counter_of_16_bits_is_named_by_its_dtype(dtype, most):
    """One by one, it comes to that number and no further."""
    epoch = numerics.Trained(np.ones(3000), [2] * 3000, [1] * 3000, ["batches"])

    why, try_ = numerics.accuracy_problem(100 * most / 6000, epoch)

    assert f"correct was added up in {dtype}" in why
    assert "int64" in try_


@pytest.mark.parametrize(
    ("losses", "cut"),
    [
        pytest.param([1.51, 1.26, 1.0], True, id="two decimals"),
        pytest.param(np.float32([1.51, 1.26, 1.0]), True, id="two decimals in 32 bits"),
        pytest.param([1.5063, 1.2571, 1.0012], False, id="four decimals of other losses"),
        pytest.param([1.50734, 1.25791, 1.00123], False, id="all"),
        pytest.param([1.51, 1.26], False, id="too few"),
    ],
)
def test_losses_that_were_rounded_are_told_from_others(losses, cut):
    assert cut == numerics.rounded(np.array(losses, "float64"), np.array([1.50734, 1.2579, 1.0012]))


@pytest.mark.parametrize(
    ("means", "told", "factor", "why"),
    [
        (["batches", "samples"], 13.4 / 26, 1.0, ""),
        (["batches", "samples"], 0.55, 1.0, ""),
        (["samples"], 13.4 / 26, 1.0, ""),
        (["samples"], 0.55, 1.0, "batches count alike, and the last one has fewer samples"),
        (["samples"], 13.4 / 26, 0.5, "loss is right, but losses is not: they are halves"),
        (["samples"], 13.4 / 26, 0.3, "loss is right, but losses is not: it has other numbers"),
    ],
    ids=["either", "or", "weighted", "not weighted", "halves in the list", "others in the list"],
)
def test_the_mean_is_the_one_that_was_asked_for_and_the_losses_are_listed(means, told, factor, why):
    epoch = replace(EPOCH, means=means)
    halves = [(0.5 * epoch.loss, "they are halves")]

    found = numerics.loss_problem(told, factor * EPOCH.losses, epoch, halves, 1e-4)

    assert why in (found or ("",))[0]
    assert bool(why) == bool(found)


@pytest.mark.parametrize(
    ("weights", "words"),
    [([3, 4], ""), ([0, 0], "no weight moved"), ([3, 5], "because"), ([3], "because")],
    ids=["the same", "still", "another", "fewer"],
)
def test_an_update_is_that_of_the_baseline(weights, words):
    found = numerics.same_update(
        Pair(seen(weights=weights, start=[0, 0]), seen(weights=[3, 4], start=[0, 0])),
        0.01,
        why="because",
        try_="try",
    )

    assert words in getattr(found, "why", "")
    assert bool(words) == isinstance(found, Failed)
