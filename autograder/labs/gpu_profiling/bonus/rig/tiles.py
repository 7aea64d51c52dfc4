"""Images to convolve, rectify and pool, and what three operators make of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

BIASES = {"images of 2 x 3 pixels": 20.0, "nothing above zero": -100.0}
"""So that the only number is none that rounding makes much of, and that ReLU has something to do."""
Layer = tuple[Any, Any, Any]
"""Images, weight, bias."""


def pooled(images: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Return what the fused kernel is to compute, by three operators."""
    convolved = torch.nn.functional.conv2d(images, weight, bias, padding=1)
    return torch.nn.functional.max_pool2d(convolved.relu(), 2)


def layers(random: np.random.Generator) -> dict[str, Layer]:
    """Draw images of several sizes, and what is to be computed of them; the largest needs more than one block."""
    low, high = int(2 * random.integers(2, 4) + 1), int(2 * random.integers(4, 6) + 1)
    shapes = {  # batch, channels, filters, height, width; small: the interpreter takes milliseconds for a pixel's load
        "images of 2 x 3 pixels": (1, 1, 1, 2, 3),
        "2 images of 2 channels, 2 filters": (2, 2, 2, 8, int(2 * random.integers(5, 7))),
        "odd sizes": (1, 1, 1, low, high),
        "more numbers than a block has": (3, 1, 1, 20, 22),
        "nothing above zero": (1, 1, 1, 6, 6),
    }
    return {
        case: _layer(random, *shape, bias=BIASES.get(case, 1.0)) for case, shape in shapes.items()
    }


def _layer(
    random: np.random.Generator,
    batch: int,
    channels: int,
    filters: int,
    height: int,
    width: int,
    *,
    bias: float,
) -> Layer:
    images, weight = (
        random.normal(size=(batch, channels, height, width)),
        random.normal(size=(filters, channels, 3, 3)),
    )
    return images, weight, random.normal(size=filters) + bias
