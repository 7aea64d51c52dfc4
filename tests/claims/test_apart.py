"""How a training left the baseline's is named by what each side ended with."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.claims import apart
from autograder.model import Observation, Pair
from autograder.probe import Tolerance

WITHIN = Tolerance(losses=3e-6, weights=4e-7)
LOSSES = np.array([2.3134271, 2.2081634, 1.9027483])
WEIGHTS = {"start": np.zeros(4, "f4"), "weights": np.ones(4, "f4")}


@pytest.mark.parametrize(
    ("losses", "name"),
    [
        (LOSSES / 8, "scaled"),
        (np.round(LOSSES, 4), "rounded"),
        (np.round(LOSSES, 5), "rounded"),
        (LOSSES * (1 + 4e-6), "listed"),
        (LOSSES + np.nan, "listed"),
        (LOSSES[:0], "listed"),
    ],
)
def test_losses_that_are_not_those_of_right_steps_are_named(losses, name):
    sides = (Observation("it", "ok", {}, {**WEIGHTS, "losses": it}) for it in (losses, LOSSES))

    assert apart.how_apart(Pair(*sides), WITHIN) == name


@pytest.mark.parametrize(
    ("steps", "losses", "called", "name"),
    [
        (3, LOSSES, 3, "short"),
        (3, LOSSES, 0, "uncalled"),
        (1, LOSSES, 3, "counted"),
        (1, LOSSES + 0.1, 3, "short"),
    ],
)
def test_weights_that_moved_little_were_clipped_or_stepped_too_seldom(steps, losses, called, name):
    little = {**WEIGHTS, "weights": np.full(4, 0.3, "f4"), "losses": losses}
    own = Observation("it", "ok", {"steps": steps, "finite": True, "called": called}, little)
    right = Observation("it", "ok", {}, {**WEIGHTS, "losses": LOSSES})

    assert apart.how_apart(Pair(own, right), WITHIN) == name


@pytest.mark.parametrize(
    ("losses", "name"),
    [
        (LOSSES, "still"),
        (LOSSES[:0], "still"),
        (LOSSES + 0.2, "still"),  # in eval()
        (LOSSES + 0.01, "still"),  # of autocast
        (LOSSES / 2, "made up"),
    ],
)
def test_losses_of_a_loop_without_steps_are_made_up_where_no_usual_mistake_gives_them(losses, name):
    at_rest = {**WEIGHTS, "weights": WEIGHTS["start"], "losses": losses}
    own = Observation("it", "ok", {"steps": 0, "finite": True, "called": 3}, at_rest)
    usual = {"first": {"eval": LOSSES[0] + 0.2, "bfloat16": LOSSES[0] + 0.01}}
    right = Observation("it", "ok", usual, {**WEIGHTS, "losses": LOSSES})

    assert apart.how_apart(Pair(own, right), WITHIN) == name
