"""A deep stack of equal layers: what is kept of it for the backward pass is what training it takes."""

from __future__ import annotations

from torch import nn


def make_layers(count: int = 12, width: int = 64, hidden: int = 256, dropout: float = 0.1) -> nn.Sequential:
    """Return *count* layers: linear, GELU, dropout, linear and a norm, from *width* to *hidden* and back."""
    return nn.Sequential(
        *(
            nn.Sequential(
                nn.Linear(width, hidden),
                nn.GELU(),
                nn.Dropout(dropout),
                nn.Linear(hidden, width),
                nn.LayerNorm(width),
            )
            for _ in range(count)
        )
    )
