"""Data that takes its time to be read, and a training step to feed: what a data loader is tried on."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import Dataset

from .data import Patterns
from .models import make_training


class SlowReads(Dataset[Any]):
    """Another data set, each sample of which takes *seconds* longer to read: a disk far away, on any machine alike."""

    def __init__(self, dataset: Dataset[Any], seconds: float) -> None:
        """Wrap *dataset*."""
        self.dataset, self.seconds = dataset, seconds

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self.dataset)  # type: ignore[arg-type]

    def __getitem__(self, index: int) -> Any:
        """Wait, then read."""
        time.sleep(self.seconds)
        return self.dataset[index]


def make_step(device: torch.device) -> Callable[[Tensor, Tensor], None]:
    """Return step(images, labels), which trains a fresh ResNet-18 on one batch that is on *device*."""
    net, criterion, optimizer = make_training(device)
    net.train()

    def step(images: Tensor, labels: Tensor) -> None:
        optimizer.zero_grad()
        criterion(net(images), labels).backward()
        optimizer.step()

    return step


def loading_workload(device: torch.device) -> dict[str, Any]:
    """Return sizes for part 2: reading a batch takes longer than training on it, a few times as long on a CPU."""
    if device.type == "cuda":
        return {"batch_size": 128, "batches": 20, "image_size": 224, "read_seconds": 0.004}
    return {"batch_size": 16, "batches": 20, "image_size": 32, "read_seconds": 0.01}


def make_dataset(batch_size: int, batches: int, image_size: int, read_seconds: float) -> SlowReads:
    """Return a data set of these sizes that has to be waited for."""
    return SlowReads(Patterns(batch_size * batches, image_size), read_seconds)
