"""What compiled code would launch, without a compiler: names of kernels, graphs, and results as in eager code."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from autograder.worker.rigs.would_launch import launches

pytestmark = pytest.mark.fresh

IMAGES = torch.ones(2, 3, 8, 8)


def block(*more):
    return nn.Sequential(nn.Conv2d(3, 6, 3), nn.BatchNorm2d(6), *more).eval()


def chain(x):
    for _ in range(6):
        x = (x * 0.5 + 1.0).sin()
    return x


def looks(x):
    x = x.sin()
    return x + 1 if x.sum().item() > 0 else x


COUNTED = {
    "a norm and a ReLU are one kernel beside the convolution": (block(nn.ReLU()), 1, 1, 1),
    "a norm alone is one, too": (block(), 1, 1, 1),
    "a chain is one": (chain, 0, 1, 1),
    "a look at a value makes two graphs": (looks, 0, 2, 2),
    "a view is none": (lambda x: x.transpose(0, 1), 0, 0, 1),
    "products are a library's": (lambda x: (x @ x) @ x, 2, 0, 1),
    "so is what has no code of its own": (lambda x: x.sort().values, 1, 0, 1),
}


@pytest.fixture(autouse=True)
def no_compiler(monkeypatch):
    """Whoever asked for one would not find it."""
    monkeypatch.setenv("PATH", "")


@pytest.mark.parametrize("name", COUNTED)
def test_launches_are_counted(name):
    function, *expected = COUNTED[name]
    found = launches(function, IMAGES)

    assert expected == [len(found.extern), len(found.fused), found.graphs]
    assert found.count == sum(expected[:2])


def test_kernels_have_the_names_of_their_operators():
    found = launches(block(nn.ReLU()), IMAGES)

    assert ["convolution"] == found.extern
    assert ["relu" in name and name.startswith("fused_") for name in found.fused] == [True]


def test_it_says_why_a_function_is_cut():
    assert "item" in launches(looks, IMAGES).breaks[0]


def test_the_function_computes_as_eager_code_does():
    results = []
    launches(lambda x: results.append(chain(x)) or x, IMAGES)

    assert torch.equal(chain(IMAGES), results[0])


def test_a_second_count_is_the_same():
    """Neither a cache nor what was compiled before has an influence."""
    first, second = (launches(block(nn.ReLU()), IMAGES) for _ in range(2))

    assert first == second
