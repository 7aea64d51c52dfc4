"""Where a result is wrong: a map of its error over the last two dimensions, which a feedback page draws.

A map is small, whatever the size of the result: at most 64 x 64 cells, each with the largest error of its numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
MOST = 64  # rows and columns of a map
FEWEST = 4  # numbers; what has fewer is said in words
NOT_FINITE = 9
"""The level of a cell with NaN or infinity. The others: 0 is right, and each one more is ten times as far."""


def error_map(apart: Array, allowed: float, case: str, shape: Sequence[int]) -> dict[str, Any]:
    """Note for each cell how far it is *apart*, as a level; nothing where a picture would say no more than words."""
    if apart.size < FEWEST:
        return {}
    rows, columns = ([1, 1, *shape])[-2:]
    # Where nothing is allowed, a difference counts by its own size.
    with np.errstate(over="ignore"):
        shares = apart / allowed if allowed else np.where(apart > 0, 1 + apart, 0.0)
    plane = shares.reshape(-1, rows, columns).max(axis=0)
    wrong = np.argwhere(plane > 1)
    levels = _levels(_cells(_cells(plane, 0), 1))
    return {
        "error_map": {
            "case": case,
            "shape": list(shape),
            "levels": ["".join(map(str, row)) for row in levels.tolist()],
            "wrong": len(wrong),
            "rows": [int(wrong[:, 0].min()), int(wrong[:, 0].max())],
            "columns": [int(wrong[:, 1].min()), int(wrong[:, 1].max())],
        }
    }


def _cells(plane: Array, axis: int) -> Array:
    """Put neighbours together until there are few enough; the largest counts."""
    size = plane.shape[axis]
    starts = np.unique(np.linspace(0, size, min(size, MOST), endpoint=False).astype(int))
    return np.asarray(np.maximum.reduceat(plane, starts, axis=axis))


def _levels(shares: Array) -> Array:
    with np.errstate(all="ignore"):
        decades = np.floor(np.log10(np.where(shares > 1, shares, 1.0)))
    levels = np.where(shares > 1, 1 + np.minimum(decades, NOT_FINITE - 2), 0)
    return np.where(np.isfinite(shares), levels, NOT_FINITE).astype(int)
