"""Part 4, the plain way: everything is kept until the backward pass has used it."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional


class CheckpointedStack(nn.Module):
    """The layers in their order; nothing is computed again."""

    def __init__(self, layers: nn.Sequential, segments: int) -> None:
        """Keep the layers; segments make no difference."""
        super().__init__()
        self.layers = layers
        self.segments = segments

    def forward(self, x: Tensor) -> Tensor:
        """Return self.layers(x)."""
        return self.layers(x)


def mlp(x: Tensor, w1: Tensor, b1: Tensor, w2: Tensor, b2: Tensor) -> Tensor:
    """Keep the hidden activations."""
    return functional.linear(functional.relu(functional.linear(x, w1, b1)), w2, b2)


def checkpoint_blocks(model: nn.Module, every: int) -> nn.Module:
    """Leave the model as it is."""
    return model


def recompute_cheap(layer: nn.Module, x: Tensor) -> Tensor:
    """Keep everything."""
    return layer(x)
