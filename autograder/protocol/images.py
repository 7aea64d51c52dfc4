"""Pictures drawn for probes and windows: patterns that a small network can learn, ones that are
work to augment, ones that a store hands out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

CLASSES = 4
SIDE = 8  # pixels


def draw(random: np.random.Generator, count: int) -> dict[str, np.ndarray[Any, Any]]:
    """Draw so many pictures (count, 3, 8, 8) and their labels."""
    shape = (3, SIDE, SIDE)
    labels = random.integers(0, CLASSES, count)
    patterns = random.standard_normal((CLASSES, *shape), dtype="float32")
    return {
        "images": patterns[labels] + random.standard_normal((count, *shape), dtype="float32"),
        "labels": labels,
    }


class Samples:
    """A picture and a label of each key that a store hands out, some milliseconds after it was
    asked.
    """

    def __init__(self, store: Sequence[int]) -> None:
        """Read from *store*."""
        self._store = store

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self._store)

    def __getitem__(self, index: int) -> tuple[Any, int]:
        """Wait for one; the same key makes the same picture."""
        key = self._store[index]
        return self.picture(key), key % 10

    def picture(self, key: int) -> np.ndarray[Any, Any]:
        """Draw it."""
        import numpy as np

        return np.random.default_rng(key).random((3, SIDE, SIDE), dtype=np.float32)


def augmented(
    random: np.random.Generator, stored: int = 256, side: int = 224
) -> np.ndarray[Any, Any]:
    """Return (3, side, side) in float32: a picture of *stored* pixels a side, cropped, resized,
    flipped, normalised.

    As augmentations of photographs do it, on one core and without torch; the same numbers for
    the same *random*.
    """
    import numpy as np

    picture = np.frombuffer(random.bytes(3 * stored * stored), np.uint8).reshape(3, stored, stored)
    size = random.uniform(0.3, 1.0) * (stored - 1)
    places = [
        start + np.linspace(0.0, size, side, dtype=np.float32)
        for start in random.uniform(0, stored - 1 - size, 2)
    ]
    for axis, place in ((1, places[0]), (2, places[1])):
        below = np.minimum(place.astype(np.intp), stored - 2)
        share = (place - below).astype(np.float32).reshape((-1, 1) if axis == 1 else (-1,))
        picture = (
            np.take(picture, below, axis) * (1 - share) + np.take(picture, below + 1, axis) * share
        )
    turned = picture[:, :, ::-1] if random.random() < 0.5 else picture
    return np.ascontiguousarray((turned / 255 - 0.5) / 0.25, dtype=np.float32)
