"""A network of a known number of operators, on a clock that is moved."""

from __future__ import annotations

from collections import Counter
from itertools import count
from typing import Any

import torch
from torch import Tensor, nn

from autograder.worker.rigs.scripted import OBSERVED, ScriptedCall

# Operators more in the first call of all, in which real networks allocate and are compiled.
FIRST = 4


LAYERS = ("conv1", "conv2", "conv3", "fc1")  # each has a ReLU behind it
MISPLACED = {
    **{f"the ReLU after {name} is missing": ({at}, False) for at, name in enumerate(LAYERS)},
    "the ReLUs after conv1, conv2 and conv3 are missing": ({0, 1, 2}, False),
    "no ReLU is used": ({0, 1, 2, 3}, False),
    "the ReLU after conv3 comes after the average, and not before it": ({2}, True),
}
"""Words for a mistake: which ReLUs of a SimpleNet are passed over, and whether the average has one behind it."""


def without_relus(simple: nn.Module, images: Tensor) -> dict[str, list[float]]:
    """Return the logits that a SimpleNet gives with each of the usual mistakes."""
    return {words: _logits(simple, images, *it) for words, it in MISPLACED.items()}


def _logits(simple: nn.Module, images: Tensor, skipped: set[int], late: bool) -> list[float]:
    calls = count()

    def relu(_: Any, inputs: Any, output: Tensor) -> Tensor:
        passed: Tensor = inputs[0] if next(calls) in skipped else output
        return passed

    def average(_: Any, __: Any, output: Tensor) -> Tensor:
        return output.relu() if late else output

    hooks = [
        simple.get_submodule(name).register_forward_hook(hook)
        for name, hook in (("relu", relu), ("shrink", average))
    ]
    with torch.no_grad():
        logits: list[float] = simple(images).flatten().tolist()
    for it in hooks:
        it.remove()
    return logits


class ScriptedNet(nn.Module):
    """Asks for a known number of operators, and takes scripted seconds, more under a profiler or with gradients."""

    def __init__(self, call: ScriptedCall, operators: int) -> None:
        """Each operator is a ReLU; a view among them is none."""
        super().__init__()
        self._call, self._operators, self._first = call, operators, FIRST
        self._weight = nn.Parameter(torch.zeros(()))
        # Calls under the profiler, others with gradients, and what is left; of equal numbers the first counts.
        self.counts = Counter(dict.fromkeys(("profiled", "recorded", ""), 0))

    def forward(self, x: Tensor) -> Tensor:
        recorded = torch.is_grad_enabled() and self._weight.requires_grad
        profiled = torch._C._autograd._profiler_enabled()
        self.counts["profiled" if profiled else "recorded" * recorded] += 1
        for _ in range(self._operators + self._first):
            x = x.relu().view(x.shape)
        self._first = 0
        return self._call(x, times=OBSERVED if profiled or recorded else 1.0)
