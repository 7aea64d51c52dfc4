"""Several processes are judged by what each of them has: weights, and figures that are the same in all."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.checks import together
from autograder.model import Failed, Observation, Pair, Passed

START = np.zeros(4)
ARRAYS = {
    "start": START,
    "weights0": START + 1,
    "weights1": START + 1,
    "losses0": np.array([2.0, 1.0]),
    "losses1": np.array([2.0, 1.0]),
}


def pair(asked=(0, 1), **changed):
    sides = ((asked, {**ARRAYS, **changed}), ((0, 1), ARRAYS))
    return Pair(
        *(
            Observation("ranks", "ok", {"ranks": [{"asked": list(it)}]}, arrays)
            for it, arrays in sides
        )
    )


def both(weights, **more):
    return {"weights0": weights, "weights1": weights, **more}


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        pytest.param({"weights0": START}, "different weights", id="rank 0 does nothing"),
        pytest.param(
            {"weights1": START + 1.001}, "different weights", id="rank 1 goes its own way"
        ),
        pytest.param({"weights1": START + np.nan}, "different weights", id="no numbers"),
        pytest.param(both(START), "another one was trained", id="a copy is trained"),
        pytest.param(both(START + 1.8), "added up", id="a sum for the mean"),
        pytest.param(both(START + 1.8, asked=(1, 0)), "another order", id="another order"),
        pytest.param(
            both(START + 1.8, asked=(0, 1, 0, 1)), "read 4 samples", id="the whole set in each"
        ),
        pytest.param(
            both(START + 1.1),
            "gradients are not averaged, or criterion or optimizer",
            id="other steps",
        ),
    ],
)
def test_every_rank_has_the_weights_of_one_process(changed, words):
    found = together.trained_as_one(pair(**changed), try_="")

    assert isinstance(found, Failed)
    assert words in found.why


@pytest.mark.parametrize(
    ("changed", "measured", "why"),
    [
        pytest.param(
            [2.0], "rank 1: 1 losses for 2 epochs: 2", "losses has one finite number", id="too few"
        ),
        pytest.param(
            [2.0, np.nan], "2 losses for 2 epochs", "losses has one finite number", id="no number"
        ),
        pytest.param([2.0, 1.1], "rank 1: 2, 1.1, and it is 2, 1", "a reason", id="its own"),
    ],
)
def test_a_figure_is_the_same_in_every_rank(changed, measured, why):
    found = together.told_alike(pair(losses1=np.array(changed)), "losses", "a reason", try_="")

    assert isinstance(found, Failed)
    assert measured in found.measured
    assert why in found.why


def test_what_all_have_in_common_passes():
    assert isinstance(together.trained_as_one(pair(), try_=""), Passed)
    assert Passed("2, 1 in both") == together.told_alike(pair(), "losses", "a reason", try_="")
