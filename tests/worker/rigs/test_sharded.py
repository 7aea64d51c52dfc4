"""What processes of one model hold, and how their figures are told: by storages, and by rank."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from autograder.worker.rigs import sharded


def loss_of(model, batch):
    return model(batch).square().mean()


def trained(clip):
    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    batches = torch.ones(3, 5, 4)
    return sharded.alone(model, torch.optim.Adam, batches, loss_of, clip)


def test_one_process_answers_for_both():
    answer = trained(float("inf"))

    assert {"parameters": 40, "gradients": 40, "state": 88} == answer["ranks"][1]["held"]
    assert 3 == len(answer["losses0"]) == len(answer["norms1"])
    assert answer["weights0"].tolist() == answer["weights1"].tolist() != answer["start"].tolist()


def test_norms_are_those_before_clipping():
    assert trained(1e-3)["norms0"][0] == pytest.approx(trained(float("inf"))["norms0"][0])


def test_a_view_counts_as_the_whole():
    model = nn.Linear(4, 2, bias=False)
    model.weight = nn.Parameter(torch.ones(64, 4)[:2])
    optimizer = torch.optim.SGD(model.parameters())

    assert 64 * 4 * 4 == sharded.held(model, optimizer)["parameters"]


def test_numbers_of_no_tensor_are_none():
    assert [] == sharded.numbers([])
    assert [1.0, 1.0] == sharded.numbers([torch.ones(2)])
