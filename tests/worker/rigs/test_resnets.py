"""Networks from a seed: alike at each call, cut as torchvision's are, and slow by script only."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace

import pytest
import torch

from autograder.worker.rigs.resnets import ResNets, scripted, smaller_loss

NETS = ResNets(7, torch.device("cpu"))


@pytest.mark.parametrize("norm", ["batch", "group"])
def test_fresh_weights_are_alike_and_leave_random_numbers_alone(norm):
    before = torch.get_rng_state()
    first, second = (NETS.small(norm).state_dict() for _ in range(2))

    assert all(torch.equal(first[name], second[name]) for name in first)
    assert torch.equal(before, torch.get_rng_state())


def test_with_group_norms_a_batch_may_be_cut_anywhere():
    net, images = NETS.small("group"), torch.randn(5, 3, 8, 8)

    torch.testing.assert_close(net(images), torch.cat([net(images[:2]), net(images[2:])]))


def test_a_smaller_loss_is_the_same_in_every_digit():
    outputs, labels = torch.randn(4, 3), torch.tensor([0, 1, 2, 0])
    loss = torch.nn.CrossEntropyLoss()

    assert torch.equal(loss(outputs, labels), 64 * smaller_loss(loss, 64)(outputs, labels))
    assert loss is smaller_loss(loss, 1)


def test_convolutions_take_scripted_seconds_and_the_first_backward_pass_more():
    spent = []
    clock = SimpleNamespace(advance=lambda seconds, busy: spent.append(seconds))
    passes, ran = Counter(), []
    make = scripted(
        lambda: (NETS.small(), None, None), clock, 0.5, 3.0, half=0.25, passes=passes, ran=ran
    )
    for half in (False, True):
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            outputs = make(torch.device("cpu"))[0](torch.randn(2, 3, 8, 8))
        outputs.sum().backward()

    assert [0.5] * 17 + [3.0] + [0.125] * 17 + [0.0] == spent  # 17 convolutions each
    assert [1, 1] == list(passes.values())
    assert 2 * sorted(set(ran)) == ran  # in the order in which they stand in the network
