"""A lab of one timed part, for workers: a sum that may be looped over in Python, and a training loop.

Loaded into the warm process.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from autograder.lab import Part, Tolerance

LAB, FILE = "timed_toy", "part1_sums.py"
part = Part("part1_sums", writes=["total"])
WIDTH = 20_000  # numbers in a call: about 0.5 ms in a Python loop


def draw(random: Any) -> dict[str, Any]:
    return {"x": random.standard_normal(WIDTH, dtype="float32")}


@part.timed("call", inputs=draw)
def sums(student: Any, inputs: Any) -> Any:
    return student.total(**inputs)


@part.timed("train", within=Tolerance(losses=1e-4, weights=1e-4))
def training(student: Any, window: Any) -> Any:
    return student.train(window.model, window.loader, window.criterion, window.optimizer)


TRAIN = """
def train(model, loader, criterion, optimizer):
    losses = []
    for images, labels in loader:
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
"""
BASELINE = (
    """
import torch

def total(x):
    found = 0.0
    for number in x.tolist():
        found += number
    return torch.tensor([found])
"""
    + TRAIN
)
TWICE_AS_FAST = """
import torch

def total(x):
    found = 0.0
    for number in x[::3].tolist():
        found += number
    return torch.tensor([found]) + x[1::3].sum() + x[2::3].sum()
"""


def install() -> None:
    """Make it a part that `autograder.labs` has."""
    name = f"autograder.labs.{LAB}"
    package = ModuleType(name)
    package.__path__ = []
    sys.modules.setdefault(name, package)
    sys.modules.setdefault(f"{name}.{part.id}", sys.modules[__name__])


install()
