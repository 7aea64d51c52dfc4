"""A small network and data it can learn, drawn from a seed: a step takes milliseconds, in float16 on a CPU as well."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from autograder.protocol.images import CLASSES, SIDE, draw

WIDTH = 8  # channels


class Net(nn.Module):
    """Two convolutions with a norm each, a softmax gate over the channels, and a classifier."""

    def __init__(self) -> None:
        """Draw the weights from torch's current seed."""
        super().__init__()
        self.stem = nn.Conv2d(3, WIDTH, 3, padding=1)
        self.stem_norm = nn.BatchNorm2d(WIDTH)
        self.body = nn.Conv2d(WIDTH, WIDTH, 3, padding=1)
        self.body_norm = nn.GroupNorm(2, WIDTH)
        self.gate = nn.Linear(WIDTH * 4, WIDTH * 4)
        self.head = nn.Linear(WIDTH * 4, CLASSES)

    def forward(self, images: Tensor) -> Tensor:
        """Classify images (batch, 3, 8, 8)."""
        x = nn.functional.silu(self.stem_norm(self.stem(images)))
        x = nn.functional.silu(self.body_norm(self.body(x)))
        x = nn.functional.avg_pool2d(x, SIDE // 2).flatten(1)  # (batch, WIDTH * 4)
        gate = torch.softmax(self.gate(x), dim=1)
        logits: Tensor = self.head(x * (1 + gate))
        return logits


class Loader(DataLoader[Any]):
    """A DataLoader that tells listeners which batch is being fetched, and keeps `step`, the batch being worked on."""

    dataset: TensorDataset

    def __init__(self, dataset: TensorDataset, batch_size: int) -> None:
        """Keep the order of *dataset*; the last batch may be shorter."""
        super().__init__(dataset, batch_size)
        self.listeners: list[Callable[[int], None]] = []
        self.starters: list[Callable[[], None]] = []
        """Called by iter(loader), when a DataLoader starts its workers."""
        self.step: int | None = None
        self.images_want_gradients = False

    def __iter__(self) -> Iterator[Any]:  # type: ignore[override]  # a generator does all that a loop needs
        """Begin, and fetch batch by batch; `step` is None before the first and after the last."""
        for starter in self.starters:
            starter()
        return self._batches()

    def _batches(self) -> Iterator[Any]:
        for index, batch in enumerate(super().__iter__()):
            for listener in self.listeners:
                listener(index)
            self.step = index
            batch[0].requires_grad_(self.images_want_gradients)
            yield batch
        self.step = None


def make_net(seed: int, device: torch.device) -> Net:
    """Return the same fresh weights for the same seed; torch's own random numbers stay as they were."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        net = Net()
    return net.to(device)


def make_loader(
    seed: int,
    sizes: Sequence[int],
    *,
    poison: int | None = None,
    keep: bool = True,
    enlarged: int = 1,
) -> Loader:
    """Return batches of the given sizes, all alike but for the last; each pixel *enlarged* to a square.

    The *poison* batch has one infinite pixel per image; with *keep* false it is left out.
    """
    drawn = draw(np.random.default_rng(seed), sum(sizes))
    images = torch.from_numpy(drawn["images"])
    labels = torch.from_numpy(drawn["labels"])
    if poison is not None:
        rows = torch.arange(len(labels)) // sizes[0] == poison
        images[rows, 0, 0, 0] = torch.inf
        images, labels = (images, labels) if keep else (images[~rows], labels[~rows])
    if enlarged > 1:
        images = images.repeat_interleave(enlarged, -1).repeat_interleave(enlarged, -2)
    return Loader(TensorDataset(images, labels), sizes[0])
