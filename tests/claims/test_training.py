"""What trains is held against the slow version's weights, parameter by parameter, and what is kept beside them."""

from __future__ import annotations

import pytest

from autograder.claims.exercise import Exercise
from autograder.course.beside import undeclared
from autograder.lab import Lab
from autograder.model import Failed, Passed
from tests.claims.harness import judged

RIGHT = """
import torch


class Heavy(torch.optim.Optimizer):
    def __init__(self, parameters, rate):
        super().__init__(parameters, {"rate": rate})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for it in group["params"]:
                moved = self.state[it].setdefault("velocity", torch.zeros_like(it))
                moved.mul_(0.9).add_(it.grad)
                it.sub_(group["rate"] * moved)
"""
MISTAKES = {
    "no momentum": ("mul_(0.9)", "mul_(0.0)", "the velocity is 0.9 of the last"),
    "no bias": (
        '"params"]:\n',
        '"params"]:\n                if it.dim() == 1:\n                    continue\n',
        "1.weight, 1.bias, 2.bias did not move",
    ),
    "no step": ("it.sub_(group", "it.mul(group", "did not move"),
    "what is kept is not what moved": (
        'moved = self.state[it].setdefault("velocity", torch.zeros_like(it))\n',
        """moved = self.state[it].setdefault("own", torch.zeros_like(it))
                self.state[it]["velocity"] = it.grad.clone()
""",
        "what is kept beside the weights differs",
    ),
    "not a number": ("add_(it.grad)", "add_(it.grad / 0)", "the velocity is 0.9 of the last"),
}


def made(written, rig):
    """A small network with running statistics, and one batch of numbers."""
    import torch

    model = torch.nn.Sequential(
        torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3), torch.nn.Linear(3, 1)
    )
    for parameter in model.parameters():
        parameter.data = rig.tensor(rig.random.normal(size=tuple(parameter.shape)))
    inputs, optimizer = rig.tensor(rig.random.normal(size=(6, 4))), written(model.parameters(), 0.1)

    def step():
        optimizer.zero_grad()
        (model(inputs) - 1).abs().mean().backward()
        optimizer.step()

    return model, optimizer, step


@pytest.fixture
def heavy():
    """An optimizer of one's own, with what it keeps."""
    exercise = Exercise("Heavy")
    words = {"why": "the velocity is 0.9 of the last", "try_": "mul_(0.9).add_(gradient)"}
    exercise.trains_alike(made, 5, 1e-4, state=["velocity"], **words)
    return exercise


def test_an_optimizer_that_moves_the_weights_alike_passes(heavy, tmp_path):
    by_lists = RIGHT.replace(
        "moved.mul_(0.9).add_(it.grad)", "torch._foreach_mul_([moved], 0.9); moved += it.grad"
    )

    for text in (RIGHT, by_lists):
        found = judged(heavy, text, RIGHT, tmp_path)["trains_alike"]
        assert isinstance(found, Passed), found
        assert "change of the weights is off by" in found.measured


def test_its_check_rests_on_outputs_and_need_not_say_more(heavy):
    """The probe compares weights, and no recorder stands beside the code."""
    assert [] == undeclared(Lab("toy", (heavy.part,)))


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told(heavy, mistake, tmp_path):
    old, new, words = MISTAKES[mistake]
    assert old in RIGHT
    found = judged(heavy, RIGHT.replace(old, new), RIGHT, tmp_path)["trains_alike"]

    assert isinstance(found, Failed)
    assert words in found.why
