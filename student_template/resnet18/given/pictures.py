"""Pictures like CIFAR-10's that need no download and can be learnt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from PIL import Image
from torch.utils.data import Dataset

from .data import CLASSES, NOISES

SIDE = 32  # pixels
COARSE = 4  # patches a side: large enough to be found again in a part of the picture


class Pictures(Dataset[tuple[Any, int]]):
    """What `torchvision.datasets.CIFAR10` gives, in the same form: a PIL picture, or what *transform* makes of it, and
    its class. Each class has coloured patches of its own, under noise. Sample i is always the same picture.
    """

    def __init__(self, samples: int = 50_000, transform: Callable[[Any], Any] | None = None, seed: int = 0) -> None:
        """Draw one pattern per class."""
        generator = np.random.default_rng(seed)
        self.transform = transform
        self.labels = generator.integers(0, CLASSES, samples)
        self.patches = generator.integers(40, 216, (CLASSES, COARSE, COARSE, 3))
        self.noises = generator.integers(-40, 41, (NOISES, SIDE, SIDE, 3))

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self.labels)

    def __getitem__(self, index: int) -> tuple[Any, int]:
        """Return a picture of 32 x 32 pixels, transformed, and its class."""
        if not 0 <= index < len(self):
            raise IndexError(index)
        label = int(self.labels[index])
        pixels = self.patches[label].repeat(SIDE // COARSE, axis=0).repeat(SIDE // COARSE, axis=1)
        pixels = pixels + np.roll(self.noises[index % NOISES], index // NOISES, axis=1)
        picture = Image.fromarray(pixels.astype(np.uint8))
        return (picture if self.transform is None else self.transform(picture)), label
