"""A network of a known number of operators, on a clock that is moved."""

from __future__ import annotations

from collections import Counter

import torch
from torch import Tensor, nn

from autograder.worker.rigs.scripted import OBSERVED, ScriptedCall

# Operators more in the first call of all, in which real networks allocate and are compiled.
FIRST = 4


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
