"""A deep stack of equal layers: what is kept of it for the backward pass is what training it takes."""

from __future__ import annotations

import torch
from torch import nn


def make_layers(
    count: int = 12, width: int = 64, hidden: int = 256, dropout: float = 0.1, seed: int | None = None
) -> nn.Sequential:
    """Return *count* layers: linear, GELU, dropout, linear and a norm, from *width* to *hidden* and back.

    After the same *seed* the weights are the same, and what dropout draws in the first call is, too.
    """
    if seed is not None:
        torch.manual_seed(seed)
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
