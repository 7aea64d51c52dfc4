"""A training that is slow for a reason that a profiler finds, and one training step to look at line by line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

Image = np.ndarray[Any, Any]
Preprocess = Callable[[Sequence[Image]], Tensor]
CLASSES = 10


def preprocess(images: Sequence[Image], size: int = 32) -> Tensor:
    """Return images of different sizes as one batch: (n, 3, size, size), float32, from 0 to 1."""
    batch = torch.zeros(len(images), 3, size, size)
    for place, image in enumerate(images):
        table = torch.tensor([(value / 255) ** 2.2 for value in range(256)])
        pixels = torch.tensor(image.tolist())
        light = table[pixels].permute(2, 0, 1)
        darkest, brightest = light.min(), light.max()
        span = brightest - darkest
        scaled = (light - darkest) / (span if span > 0 else 1)
        batch[place] = F.interpolate(scaled[None], size=(size, size), mode="bilinear", antialias=True)[0]
    return batch


def make_photographs(count: int, seed: int = 0) -> list[Image]:
    """Return photographs of 40 to 56 pixels a side, as uint8 arrays (height, width, 3)."""
    random = np.random.default_rng(seed)
    sides = random.integers(40, 57, (count, 2))
    return [random.integers(0, 256, (height, width, 3), np.uint8) for height, width in sides]


def make_network(width: int = 16) -> nn.Sequential:
    """Return a small convolutional network for images of 32 pixels a side."""
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(3, width, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(width, 2 * width, 3, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(4),
        nn.Flatten(),
        nn.Linear(32 * width, CLASSES),
    )


def train_epoch(preprocess: Preprocess, count: int = 96, batch_size: int = 16) -> float:
    """Train a network for one epoch; return the last loss."""
    images, network, loss = make_photographs(count), make_network(), torch.zeros(())
    optimizer = torch.optim.Adam(network.parameters())
    for start in range(0, count, batch_size):
        batch = preprocess(images[start : start + batch_size])
        labels = torch.arange(start, start + len(batch)) % CLASSES
        loss = train_step(network, batch, labels, optimizer)
    return loss.item()


def train_step(network: nn.Module, images: Tensor, labels: Tensor, optimizer: torch.optim.Optimizer) -> Tensor:
    """Take one step; return the loss."""
    optimizer.zero_grad()
    scores = network(images)
    loss = F.cross_entropy(scores, labels)
    loss.backward()
    optimizer.step()
    return loss.detach()
