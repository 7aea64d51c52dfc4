"""Pictures that a small network can learn: a pattern for each class, plus noise. Drawn here, for probes and windows."""

from __future__ import annotations

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
    return {"images": patterns[labels] + random.standard_normal((count, *shape), dtype="float32"), "labels": labels}
