"""Photos to train on, which need no download: JPEG files in memory that are decoded each time one is asked for."""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from PIL import Image
from torch.utils.data import Dataset

CLASSES = 10
NOISES = 8  # distinct noise images; each class is stored once with each
PATCHES = 8  # a side


class Photos(Dataset[tuple[Any, int]]):
    """Photos of *side* x *side* pixels, or what *transform* makes of them, each with its class.

    Each class has coloured patches of its own, under noise, so that it can be learnt. Sample i is always the same.
    Reading one takes *read_seconds* before it is decoded, as if it lay on a disk far away.
    """

    def __init__(
        self,
        samples: int,
        side: int = 256,
        transform: Callable[[Any], Any] | None = None,
        seed: int = 0,
        read_seconds: float = 0.0,
    ) -> None:
        """Draw one pattern per class and store each as JPEG files."""
        generator = np.random.default_rng(seed)
        self.transform, self.read_seconds = transform, read_seconds
        self.labels = generator.integers(0, CLASSES, samples)
        patches = generator.integers(40, 216, (CLASSES, PATCHES, PATCHES, 3))
        noises = generator.integers(-40, 41, (NOISES, side, side, 3))
        self.files = [[_jpeg(_grown(one, side) + noise) for noise in noises] for one in patches]

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self.labels)

    def __getitem__(self, index: int) -> tuple[Any, int]:
        """Decode a photo, transform it, and say its class."""
        if not 0 <= index < len(self):
            raise IndexError(index)
        time.sleep(self.read_seconds)
        label = int(self.labels[index])
        picture = Image.open(io.BytesIO(self.files[label][index % NOISES])).convert("RGB")
        return (picture if self.transform is None else self.transform(picture)), label


def _grown(patches: np.ndarray, side: int) -> np.ndarray:
    """Repeat each patch until the picture has *side* x *side* pixels."""
    times = -(-side // PATCHES)
    return patches.repeat(times, axis=0).repeat(times, axis=1)[:side, :side]


def _jpeg(pixels: np.ndarray) -> bytes:
    file = io.BytesIO()
    Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).save(file, "JPEG", quality=90)
    return file.getvalue()
