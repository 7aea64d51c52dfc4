"""Stands in for what torchvision downloads, a small CIFAR-10 and weights; or for a machine without a network.

    with rig.downloads.reached() as asked: ...     CIFAR10(...) and resnet18(weights=...) work, and are noted
    with rig.downloads.reached(False): ...         nothing can be had

Classes are changed in place, so that it does not matter how student code imported them.
"""

from __future__ import annotations

import urllib.error
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn
from torchvision import models
from torchvision.datasets import CIFAR10, VisionDataset
from torchvision.models._api import WeightsEnum

SIDE = 32  # pixels
SAMPLES = 24  # of the stand-in: each of one colour, so that a cut of any size shows the same
CATEGORIES = 1000  # that pretrained weights were trained for
NO_NETWORK = urllib.error.URLError("no network")
NOT_THERE = "Dataset not found or corrupted. You can use download=True to download it"  # torchvision's own words


@dataclass
class Asked:
    """What student code wanted to have."""

    sets: int = 0
    weights: int = 0
    roots: list[str] = field(default_factory=list)
    other: str = ""
    """What was read in place of CIFAR-10's training set."""


class Downloads:
    """`rig.downloads`: the same pictures and weights at each call."""

    WEIGHTS = models.ResNet18_Weights.IMAGENET1K_V1

    def __init__(self, seed: int) -> None:
        self._seed = seed
        generator = np.random.default_rng(seed)
        self.colours = generator.integers(0, 256, (SAMPLES, 3))
        self.labels: list[int] = generator.integers(0, 10, SAMPLES).tolist()

    @contextmanager
    def reached(self, there: bool = True, problem: Exception = NO_NETWORK) -> Iterator[Asked]:
        """Let torchvision find what it would download, or raise this *problem*."""
        asked, old = Asked(), (CIFAR10.__init__, WeightsEnum.get_state_dict)
        stand_in = self

        def init(
            self: Any, root: Any, train: Any = True, transform: Any = None, target_transform: Any = None,
            download: Any = False,
        ) -> None:  # fmt: skip
            asked.sets += 1
            asked.roots.append(str(root))
            if not download:
                raise RuntimeError(NOT_THERE)
            if not there:
                raise problem
            VisionDataset.__init__(
                self, root, transform=transform, target_transform=target_transform
            )
            asked.other = "" if train else "the test set, train=False"
            if self.base_folder != CIFAR10.base_folder:
                asked.other = "CIFAR100"
            right = not asked.other
            self.train, self.data = train, stand_in.pixels(right)
            self.targets = stand_in.labels if right else [0] * SAMPLES

        def get_state_dict(*_: Any, **__: Any) -> dict[str, Tensor]:
            asked.weights += 1
            if not there:
                raise NO_NETWORK
            return stand_in.resnet18(CATEGORIES).state_dict()

        CIFAR10.__init__, WeightsEnum.get_state_dict = init, get_state_dict
        try:
            yield asked
        finally:
            CIFAR10.__init__, WeightsEnum.get_state_dict = old

    def pixels(self, train: bool = True) -> np.ndarray[Any, Any]:
        """Return the pictures of the training set, or others."""
        colours = self.colours if train else 255 - self.colours
        return np.broadcast_to(colours[:, None, None, :], (SAMPLES, SIDE, SIDE, 3)).astype(np.uint8)

    def resnet18(self, classes: int) -> nn.Module:
        """Return a ResNet-18 with drawn weights."""
        return self.filled(models.resnet18(weights=None, num_classes=classes))

    def pretrained(self, classes: int) -> Any:
        """Return what has the weights that stand in for pretrained ones, and a last layer of its own."""
        model: Any = self.resnet18(CATEGORIES)
        model.fc = nn.Linear(model.fc.in_features, classes)
        return model

    def filled(self, module: nn.Module) -> nn.Module:
        """Draw all that a module holds, the same numbers for the same shapes; activations keep their size."""
        generator = torch.Generator().manual_seed(self._seed % 2**63)
        with torch.no_grad():
            for tensor in module.state_dict().values():
                if tensor.is_floating_point():
                    scale = max(tensor[0].numel(), 1) ** -0.5 if tensor.dim() > 1 else 0.1
                    tensor.copy_(
                        scale * torch.randn(tensor.shape, generator=generator) + (tensor.dim() == 1)
                    )
                    tensor.abs_() if tensor.dim() == 1 else None  # variances are above 0
        return module


def picture(pixels: np.ndarray[Any, Any]) -> Any:
    """Return a PIL picture, as a data set reads one."""
    return Image.fromarray(np.ascontiguousarray(pixels.astype(np.uint8)))
