"""What stands in for torchvision's downloads: found however it was imported, and gone afterwards."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torchvision import datasets, models
from torchvision.datasets import CIFAR10
from torchvision.models._api import WeightsEnum

from autograder.labs.resnet18.part1_baseline.rig import SAMPLES, Downloads, picture

SEED = 7


def test_a_small_cifar10_is_there():
    fake = Downloads(SEED)
    with fake.reached() as asked:
        data = CIFAR10("data", train=True, download=True)
        other = datasets.CIFAR10("data", False, download=True)

    assert (SAMPLES, 2, ["data", "data"]) == (len(data), asked.sets, asked.roots)
    image, label = data[3]
    assert (tuple(fake.colours[3]), fake.labels[3]) == (image.getpixel((9, 9)), label)
    assert image.getpixel((9, 9)) != other[3][0].getpixel((9, 9))


@pytest.mark.parametrize(
    ("there", "download", "error"),
    [(True, False, RuntimeError), (False, False, RuntimeError), (False, True, OSError)],
    ids=["not downloaded", "not downloaded, no network", "no network"],
)
def test_what_is_not_there_is_an_error_as_torchvision_has_it(there, download, error):
    with Downloads(SEED).reached(there), pytest.raises(error):
        CIFAR10("data", download=download)


def test_weights_are_the_same_at_each_call_and_counted():
    fake, weights = Downloads(SEED), models.ResNet18_Weights.DEFAULT
    with fake.reached() as asked:
        one, two = models.resnet18(weights=weights), fake.pretrained(5)

    assert 1 == asked.weights
    assert torch.equal(one.layer4[1].conv2.weight, two.layer4[1].conv2.weight)
    assert 5 == two.fc.out_features
    with fake.reached(False), pytest.raises(OSError, match="no network"):
        models.resnet18(weights=weights)


def test_torchvision_is_put_back():
    before = CIFAR10.__init__, WeightsEnum.get_state_dict
    with pytest.raises(KeyError), Downloads(SEED).reached():
        raise KeyError

    assert before == (CIFAR10.__init__, WeightsEnum.get_state_dict)


def test_what_is_filled_answers_with_plain_numbers():
    net = Downloads(SEED).resnet18(10).eval()

    with torch.no_grad():
        answers = net(torch.ones(1, 3, 32, 32))

    assert torch.isfinite(answers).all()
    assert 1e-3 < answers.std() < 1e3


def test_a_picture_holds_the_pixels():
    assert (3, 2, 1) == picture(np.full((4, 4, 3), [3, 2, 1])).getpixel((0, 0))
