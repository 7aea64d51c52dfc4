"""Part 11 before the work: one row at a time, in the process that trains.

Yours is compared with it: the same samples, in batches that are made at once.
"""

from __future__ import annotations

import torch
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    """Rows of a table, one by one."""

    def __init__(self, features, labels, transform) -> None:
        """Keep them."""
        self.features = features
        self.labels = labels
        self.transform = transform

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.features)

    def __getitem__(self, index):
        """Transform a batch of one."""
        return self.transform(self.features[index : index + 1])[0], self.labels[index]

    def __getitems__(self, indices):
        """Ask for each row."""
        return [self[index] for index in indices]


def make_loader(dataset, batch_size, workers, device, seed=0) -> DataLoader:
    """Read without workers, whatever is asked for."""
    generator = torch.Generator().manual_seed(seed)
    return DataLoader(dataset, batch_size, shuffle=True, generator=generator)
