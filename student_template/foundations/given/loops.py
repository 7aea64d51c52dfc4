"""Four functions as loops over elements, which is how they are first written; and inputs for them."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def running_clipped_mean(values: Tensor, low: float, high: float) -> Tensor:
    """Return for each position the mean of all values up to it, each clipped to low ... high."""
    total, means = 0.0, []
    for i in range(len(values)):
        value = values[i].item()  # the host waits for the device
        if math.isnan(value):
            total = math.nan
        total += min(max(value, low), high)
        means.append(total / (i + 1))
    return torch.tensor(means, dtype=_real(values), device=values.device)


def masked_mean(values: Tensor, mask: Tensor) -> Tensor:
    """Return for each row the mean of the values whose mask is True; NaN where there is none."""
    means = []
    for i in range(len(values)):
        total, count = 0.0, 0
        for j in range(values.shape[1]):
            if mask[i, j]:
                total += values[i, j].item()
                count += 1
        means.append(total / count if count else math.nan)
    return torch.tensor(means, dtype=_real(values), device=values.device)


def pairwise_distances(points: Tensor, centers: Tensor) -> Tensor:
    """Return the Euclidean distance of each point (row) to each center (column)."""
    result = torch.zeros(len(points), len(centers), dtype=torch.float64)
    for i in range(len(points)):
        point = points[i].cpu().double()  # a copy to the host, then one to another dtype
        for j in range(len(centers)):
            result[i, j] = ((point - centers[j].cpu().double()) ** 2).sum().sqrt()
    return result.to(_real(points)).to(points.device)


def top_k_hits(logits: Tensor, labels: Tensor, k: int) -> Tensor:
    """Return how many rows have their label among their k largest logits; a negative label is no hit.

    Of equal logits any may come first.
    """
    hits = 0
    for i in range(len(logits)):
        best = logits[i].argsort(descending=True)[:k]
        if labels[i].item() in best.tolist():
            hits += 1
    return torch.tensor(hits, device=logits.device)


def _real(values: Tensor) -> torch.dtype:
    return values.dtype if values.is_floating_point() else torch.float32


def make_tables(rows: int, device: torch.device) -> dict[str, tuple[object, ...]]:
    """Return the arguments of each function by its name: *rows* rows, the same numbers at each call."""
    generator = torch.Generator().manual_seed(rows)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator).to(device)

    labels = torch.randint(0, 10, (rows,), generator=generator).to(device)
    return {
        "running_clipped_mean": (normal(rows), -1.0, 1.0),
        "masked_mean": (normal(rows, 16), normal(rows, 16) > 0),
        "pairwise_distances": (normal(rows, 3), normal(8, 3)),
        "top_k_hits": (normal(rows, 10), labels, 3),
    }
