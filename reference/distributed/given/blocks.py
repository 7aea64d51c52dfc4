"""A model of equal blocks, to be shared by processes."""

from __future__ import annotations

from torch import Tensor, nn

FEATURES, CLASSES = 16, 10


class Block(nn.Module):
    """A wide hidden layer, added to what comes in."""

    def __init__(self, width: int) -> None:
        """Draw fresh weights."""
        super().__init__()
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        """Return (rows, width) for (rows, width)."""
        out: Tensor = x + self.down(nn.functional.gelu(self.up(x)))
        return out


class Blocks(nn.Module):
    """Rows of 16 numbers to the logits of 10 classes, by `blocks` of one size and two layers outside of them."""

    def __init__(self, width: int = 64, layers: int = 4) -> None:
        """Draw fresh weights; with the defaults they take 536,360 bytes, 132,352 in each block."""
        super().__init__()
        self.first = nn.Linear(FEATURES, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(layers))
        self.last = nn.Linear(width, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        """Return (rows, 10) for (rows, 16)."""
        x = self.first(x)
        for block in self.blocks:
            x = block(x)
        out: Tensor = self.last(x)
        return out
