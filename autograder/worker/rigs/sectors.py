"""How much memory an operation touches: memory comes in sectors of 32 bytes, whatever of one is needed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

SECTOR = 32  # bytes: what a GPU fetches at least; a CPU fetches two of them


def layout(tensor: Tensor) -> tuple[tuple[int, ...], tuple[int, ...], int, int]:
    """Return all that decides where the numbers of a tensor lie: shape, stride, offset, bytes of each."""
    if tensor.layout != torch.strided:
        return (tensor._values().numel(),), (1,), 0, tensor.element_size()
    offset = int(tensor.storage_offset())
    return tuple(tensor.shape), tensor.stride(), offset, tensor.element_size()


def touched(shape: Sequence[int], stride: Sequence[int], offset: int, size: int) -> int:
    """Return the bytes of all sectors in which a number of such a tensor lies, each once."""
    if 0 in shape:
        return 0
    run, outer = _run(shape, stride)
    starts = np.array([offset])
    for step, count in outer:
        starts = (starts[:, None] + step * np.arange(count)).ravel()
    first = np.sort(starts * size // SECTOR)
    last = np.sort(((starts + run) * size - 1) // SECTOR)
    before = np.concatenate([[-1], last[:-1]])
    fresh = last - np.maximum(first, before + 1) + 1
    return SECTOR * int(np.maximum(0, fresh).sum())


def _run(shape: Sequence[int], stride: Sequence[int]) -> tuple[int, list[tuple[int, int]]]:
    """Return how many numbers follow each other without a gap, and (step, count) of what repeats such a run."""
    steps = [(step, count) for step, count in zip(stride, shape, strict=True) if count > 1 and step]
    outer, run = sorted(steps), 1
    while outer and outer[0][0] <= run:
        step, count = outer.pop(0)
        run += step * (count - 1)
    return run, outer
