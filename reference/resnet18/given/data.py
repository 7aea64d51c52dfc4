"""Images to train on: a synthetic set that needs no download, and the real CIFAR-10."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, Subset
from torchvision import datasets, transforms

CLASSES = 10
NOISES = 64  # distinct noise images; each sample shifts one of them, so that a sample costs one addition


class Patterns(Dataset[tuple[Tensor, int]]):
    """CIFAR-like images that can be learnt: the pattern of the class, plus noise. Sample i is always the same."""

    def __init__(self, samples: int, image_size: int = 32, seed: int = 0) -> None:
        """Draw one pattern per class; *image_size* is in pixels."""
        generator = torch.Generator().manual_seed(seed)
        shape = (3, image_size, image_size)
        self.labels = torch.randint(0, CLASSES, (samples,), generator=generator)
        self.patterns = torch.randn(CLASSES, *shape, generator=generator)
        self.noises = torch.randn(NOISES, *shape, generator=generator)

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self.labels)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        """Return an image (3, image_size, image_size) in float32, and its class."""
        if not 0 <= index < len(self):
            raise IndexError(index)
        label = int(self.labels[index])
        noise = self.noises[index % NOISES].roll(index // NOISES, dims=-1)
        return 0.5 * self.patterns[label] + noise, label


def cifar10(samples: int, image_size: int, folder: str = "data") -> Dataset[Any]:
    """Return the first *samples* of CIFAR-10's training set, downloaded into *folder* on first use (170 MB)."""
    transform = transforms.Compose(
        [
            transforms.Resize(image_size),
            transforms.ToTensor(),
            transforms.Normalize((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)),
        ]
    )
    full = datasets.CIFAR10(root=folder, train=True, download=True, transform=transform)
    return Subset(full, range(min(samples, len(full))))


def make_loader(
    batch_size: int = 32, batches: int = 20, image_size: int = 32, num_workers: int = 0, data: str = "synthetic"
) -> DataLoader[Any]:
    """Return a loader of *batches* batches: images (batch_size, 3, image_size, image_size) and labels (batch_size,).

    It does not shuffle: the samples have no order to begin with, and each run that is compared sees the same batches.
    """
    make = {"synthetic": Patterns, "cifar10": cifar10}
    if data not in make:
        raise ValueError(f"data={data!r}: choose one of {', '.join(make)}")
    dataset = make[data](batch_size * batches, image_size)
    return DataLoader(
        dataset,
        batch_size,
        num_workers=num_workers,
        pin_memory=torch.cuda.is_available(),
        persistent_workers=num_workers > 0,
    )


def workload(device: torch.device) -> dict[str, int]:
    """Return sizes for `make_loader`: enough work for a GPU; half a minute on a CPU that is slow at bfloat16."""
    if device.type == "cuda":
        return {"batch_size": 128, "batches": 50, "image_size": 224, "num_workers": 2}
    return {"batch_size": 16, "batches": 20, "image_size": 32, "num_workers": 0}
