"""Images to augment, and what standardises them."""

from __future__ import annotations

import torch
from torch import Tensor

MEAN = torch.tensor([0.485, 0.456, 0.406]).reshape(3, 1, 1)
STD = torch.tensor([0.229, 0.224, 0.225]).reshape(3, 1, 1)
"""Of the channels of ImageNet, both on the CPU: (3, 1, 1)."""


def make_images(batch: int, size: int) -> Tensor:
    """Return uint8 images (batch, 3, size, size), the same ones at each call."""
    generator = torch.Generator().manual_seed(size)
    return torch.randint(0, 256, (batch, 3, size, size), generator=generator, dtype=torch.uint8)
