"""The plain training loop: FP32, no tricks. The parts of the lab start from it."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn


def train_epoch(
    model: nn.Module,
    loader: Iterable[tuple[Tensor, Tensor]],
    criterion: nn.Module,
    optimizer: torch.optim.Optimizer,
    device: torch.device,
) -> list[float]:
    """Train for one epoch in FP32 and return the loss of each batch."""
    model.train()
    losses = []
    for images, labels in loader:
        images, labels = images.to(device), labels.to(device)  # (batch, 3, height, width), (batch,)
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())  # waits for the device at every step: simple, and slow on a GPU
    return losses
