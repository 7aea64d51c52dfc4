"""What a program saved, as weights of a plain model; and the loader that a program is handed."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from autograder.labs.resnet18.part6_comparison.rig import loader_for, saved, weights_of


def plain():
    return nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))


@pytest.mark.parametrize(
    ("state", "words"),
    [
        pytest.param(None, "the file that --save names is not there", id="nothing"),
        pytest.param(plain(), "refuses the file", id="a whole model"),
        pytest.param([1], "no state_dict", id="a list"),
        pytest.param({}, "'0.weight' is missing", id="no weights"),
        pytest.param(
            {**plain().state_dict(), "more": torch.ones(1)}, "'more' is no name", id="another name"
        ),
        pytest.param(
            {**plain().state_dict(), "0.bias": torch.ones(4)},
            "'0.bias' has another shape",
            id="a shape",
        ),
        pytest.param(
            {**plain().state_dict(), "0.bias": 3}, "'0.bias' has another shape", id="a number"
        ),
        pytest.param(plain().state_dict(), "", id="a state_dict"),
    ],
)
def test_what_was_saved_is_read_as_a_plain_model(tmp_path, state, words):
    if state is not None:
        torch.save(state, tmp_path / "model.pt")
    problem, weights = saved(tmp_path / "model.pt", plain())

    assert words in problem
    assert (words == "") == bool(weights)


def test_weights_are_flat_in_the_order_of_the_plain_model():
    model = plain()
    found = weights_of(dict(reversed(model.state_dict().items())), model)

    assert model[0].weight.flatten().tolist() == found["weights"][:6].tolist()
    assert [0.0] * 3 + [1.0] * 3 + [0.0] == found["running"].tolist()
    assert [0, 0] == [len(it) for it in weights_of({}, model).values()]


def test_a_stand_in_for_make_loader_notes_what_was_asked_for():
    asked: list[dict] = []

    assert "loader" == loader_for("loader", asked)(8, num_workers=2)
    assert [
        {"batch_size": 8, "batches": 20, "image_size": 32, "num_workers": 2, "data": "synthetic"}
    ] == asked
