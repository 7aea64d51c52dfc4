"""Counts floating-point operations of matrix products: torch's counter, and what that counts as nothing."""

from __future__ import annotations

from math import prod
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode

aten = torch.ops.aten
Shape = tuple[int, ...]


def _product(left: Shape, right: Shape) -> int:
    """Count a multiplication and an addition for each number of the left side and each column of the right."""
    return 2 * prod(left) * (right[-1] if len(right) > 1 else 1)


def _of_two(left: Shape, right: Shape, **_: Any) -> int:
    return _product(left, right)


def _added(_: Shape, left: Shape, right: Shape, **__: Any) -> int:
    return _product(left, right)


# In place, and of vectors.
UNCOUNTED = {
    **dict.fromkeys((aten.mv, aten.dot, aten.vdot), _of_two),
    **dict.fromkeys((aten.addmm_, aten.baddbmm_, aten.addbmm, aten.addbmm_), _added),
    **dict.fromkeys((aten.addmv, aten.addmv_), _added),
}


class Flops(FlopCounterMode):
    """Counts what is computed under it."""

    def __init__(self) -> None:
        """Print nothing."""
        super().__init__(display=False, custom_mapping=UNCOUNTED)
