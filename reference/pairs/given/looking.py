"""A model that looks at its own activations three times, as a router does."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class LookingNet(nn.Module):
    """Three blocks; after each, the size of the activations decides what is added."""

    def __init__(self, width: int = 16, classes: int = 4) -> None:
        """Make the blocks and the last layer."""
        super().__init__()
        self.blocks = nn.ModuleList(nn.Linear(width, width) for _ in range(3))
        self.last = nn.Linear(width, classes)

    def forward(self, x: Tensor) -> Tensor:
        """Return (n, classes)."""
        x = self._looked(self.blocks[0](x))  # no loop: torch.compile leaves a loop alone that looks at its data
        x = self._looked(self.blocks[1](x))
        x = self._looked(self.blocks[2](x))
        return self.last(x)

    def _looked(self, x: Tensor) -> Tensor:
        """Halve activations that are large."""
        x = torch.tanh(x)
        if x.abs().mean().item() > 0.5:
            x = x * 0.5
        return x
