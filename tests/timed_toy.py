"""A lab of timed work, for workers: a sum that may be looped over in Python, a training loop, and a loader.

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


def make_samples(store: Any) -> Any:
    import torch  # only where a worker runs
    from torch.utils.data import Dataset

    class Samples(Dataset[Any]):
        """A picture and a label of each key."""

        def __len__(self) -> int:
            return len(store)

        def __getitem__(self, index: int) -> Any:
            key = store[index]
            return torch.rand(3, 8, 8, generator=torch.Generator().manual_seed(key)), key % 10

    return Samples()


loader = Part("part2_loader", writes=["make_loader"])


@loader.timed("load", dataset=make_samples)
def loads(student: Any, dataset: Any, device: Any) -> Any:
    return student.make_loader(dataset, 8)


LOADER = """
from torch.utils.data import DataLoader

def make_loader(dataset, batch_size):
    return DataLoader(dataset, batch_size)
"""
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
    module = sys.modules.setdefault(f"{name}.{loader.id}", ModuleType(loader.id))
    module.part = loader  # type: ignore[attr-defined]


install()
