"""Gradients that others are added to: of before the epoch, of the group before, and of the group itself."""

from __future__ import annotations

import pytest
import torch

from autograder.labs.resnet18.part4_memory.accumulation import added_to, watched

OLD, UNCLEARED, CLEARED = "old", "uncleared", "cleared"


def trained(mistakes, by_hand=False):
    """Say what is noted of two groups of two batches each, which come with a gradient."""
    weight = torch.ones(3, requires_grad=True)
    weight.grad = torch.ones(3)
    taken = []
    noted = watched(weight, taken)
    if OLD not in mistakes:
        weight.grad = None
    for batch in range(4):
        if CLEARED in mistakes:
            weight.grad = None
        loss = (weight**2).sum()
        if by_hand:
            weight.grad = torch.autograd.grad(loss, weight)[0]
        else:
            loss.backward()
        if batch % 2:
            taken.append(1)
            weight.grad = weight.grad if UNCLEARED in mistakes else torch.zeros(3)
    return [name for name, found in added_to(noted).items() if found]


@pytest.mark.parametrize("mistakes", [[], [OLD], [UNCLEARED], [OLD, UNCLEARED], [CLEARED]])
def test_gradients_that_are_left_are_told_from_those_of_the_group(mistakes):
    assert mistakes == trained(mistakes)


def test_gradients_that_are_taken_without_backward_are_added_to_nothing():
    assert [] == trained([OLD], by_hand=True)
