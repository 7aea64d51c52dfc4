"""What a training needs, counted on real tensors: what checks of plans rest on."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from autograder.labs.resnet18.bonus.rig.plans import Plans


@pytest.fixture
def plans():
    return Plans(np.random.default_rng(1))


def linear():
    """12 x 12 pixels, flattened, and one layer: all of it can be counted by hand."""
    net = nn.Sequential(nn.Flatten(), nn.Linear(3 * 12 * 12, 10, bias=False))
    return net, nn.CrossEntropyLoss(), torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)


def test_a_layer_is_what_it_is_by_hand(plans):
    """Kept are the log-probabilities and the number of samples; inputs and weights are counted elsewhere."""
    weights, batch = 4 * 432 * 10, 5 * (4 * 432 + 8)

    expected = {
        "parameters": weights,
        "buffers": 0,
        "gradients": weights,
        "optimizer": weights,
        "batch": batch,
    }
    found = plans.measured(linear, 5, 12)
    assert expected == {name: found[name] for name in expected}
    assert 5 * 10 * 4 + 4 == found["activations"]
    assert sum(value for name, value in found.items() if name != "total") == found["total"]


def test_every_network_grows_by_the_same_bytes_for_each_image(plans):
    """So a plan that nobody could measure is known all the same."""
    for name, make in plans.small().items():
        two, three, seven = (plans.measured(make, size, 11)["total"] for size in (2, 3, 7))
        assert seven == two + 5 * (three - two), name


def test_frozen_and_shared_weights_are_counted_as_they_are(plans):
    small = {name: plans.measured(make, 2, 11) for name, make in plans.small().items()}

    frozen, shared = small["AdamW and a frozen layer"], small["Adam and a shared weight"]
    assert frozen["gradients"] < frozen["parameters"]
    assert shared["gradients"] == shared["parameters"]
    assert 0 == small["plain SGD"]["optimizer"]
