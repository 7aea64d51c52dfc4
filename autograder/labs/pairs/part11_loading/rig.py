"""What the probes of part 11 work with: a small table, its samples, and epochs of a loader."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograder.worker import rig as worker

FEATURES = 6


class Table:
    """Features and labels; the transform takes rows, works bit by bit alike for any number of them, and may change."""

    def __init__(self, features: Tensor, labels: Tensor) -> None:
        """Keep them."""
        self.tensors = features, labels
        self.factor = 2.0

    def transform(self, rows: Tensor) -> Tensor:
        """Mix each row with its reverse."""
        return self.factor * rows + rows.flip(1)

    def batches(self, size: int) -> list[tuple[Tensor, Tensor]]:
        """Return all samples in the order of the table."""
        pieces = (it.split(size) for it in self.tensors)
        return [(self.transform(rows), labels) for rows, labels in zip(*pieces, strict=True)]


def by_label(loader: Any) -> Tensor:
    """Go through a loader once; return the samples in the order of their labels."""
    samples, labels = (torch.cat(it) for it in zip(*loader, strict=True))
    return samples[labels.argsort()]


def numbered(count: int) -> tuple[Tensor, Tensor]:
    """Return a table whose rows and labels are their own numbers."""
    numbers = torch.arange(count)
    return numbers[:, None].float(), numbers


tensor_of = torch.from_numpy


class Rig(worker.Rig):
    """The toolkit of this part's probes."""

    def table(self, rows: int, dtype: torch.dtype = torch.float32) -> Table:
        """Draw one."""
        features = torch.from_numpy(self.random.normal(size=(rows, FEATURES))).to(dtype)
        return Table(features, torch.from_numpy(self.random.integers(0, 9, rows)))

    def doubles(self, rows: int) -> Table:
        """Draw one whose dtype is none that code takes by itself."""
        return self.table(rows, torch.float64)

    def epochs(self, make: Callable[[int], Any], data: Table, batch: int) -> dict[str, Any]:
        """Go through two epochs of one loader, one of another with its seed, and one with another seed.

        The trusted side has the samples in the order of the table.
        """
        seed = self.integer(1, 1000)
        if self.side == "student":
            first = make(seed)
            loaders = {
                "first": first,
                "second": first,
                "alike": make(seed),
                "another": make(seed + 1),
            }
        else:
            loaders = dict.fromkeys(("first", "second", "alike", "another"), data.batches(batch))
        return {
            f"{epoch}_{name}": array
            for epoch, loader in loaders.items()
            for name, array in self.loading.epoch(loader).items()
        }

    def whole_batch(self, rows: Any, load: Callable[..., Any]) -> list[Tensor]:
        """Return all rows, and one of them twice, as one batch; another check says where none comes out."""
        indices = [*range(len(rows)), 1]
        try:
            batch = rows.__getitems__(indices)
            features, labels = load(rows, len(indices), 0, self.device).collate_fn(batch)
        except Exception:
            features, labels = zip(*(rows[index] for index in indices), strict=True)
            features = torch.stack(features)
        return [features, torch.as_tensor(labels)]

    @staticmethod
    def sample(rows: Any, index: int) -> list[Tensor]:
        """Return one row and its label, which may be a number of Python's."""
        features, label = rows[index]
        return [features, torch.as_tensor(label)]
