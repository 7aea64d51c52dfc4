# %% [markdown]
# # Part 11: batches, not samples
#
# A DataLoader asks a data set for one sample after the other, and stacks them. If samples are rows of a table, this is
# slow: 64 calls of `transform`, each with one row, take far longer than one call with 64 rows. If the data set has
# `__getitems__`, the DataLoader asks it for a whole batch at once. With workers, other processes make the next batches
# while the training computes.

# %%
from __future__ import annotations

import time

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, IterableDataset

from given import device_name

# %% [markdown]
# ## 11.1 A data set that is asked for batches


# %%
class Rows(Dataset):
    """Rows of a table: row i of features, transformed when read, and labels[i]. transform takes any number of rows."""

    def __init__(self, features: Tensor, labels: Tensor, transform) -> None:
        """Keep features (n, d), labels (n,) and transform, whose results may change: call it for each batch."""
        self.features = features
        self.labels = labels
        self.transform = transform

    def __len__(self) -> int:
        """Return the number of rows."""
        # TODO: features has a length.
        ### BEGIN SOLUTION
        return len(self.features)
        ### END SOLUTION

    def __getitem__(self, index: int):
        """Return one row, transformed, and its label. No index is negative."""
        # TODO: transform takes rows, so give it a batch of one.
        ### BEGIN SOLUTION
        return self.transform(self.features[index : index + 1])[0], self.labels[index]
        ### END SOLUTION

    def __getitems__(self, indices: list[int]):
        """Return these rows and their labels, with one call of transform, in the form that your collate_fn expects."""
        # TODO: you can index a tensor with a list of numbers.
        ### BEGIN SOLUTION
        return self.transform(self.features[indices]), self.labels[indices]
        ### END SOLUTION


# %% [markdown]
# ## 11.2 A loader for it


# %%
def make_loader(dataset: Rows, batch_size: int, workers: int, device: torch.device, seed: int = 0) -> DataLoader:
    """Return a loader of (x, y) batches, each epoch in a new order that follows from *seed*; the last may be short.

    If there are workers, they stay for the next epoch. Batches are pinned for a GPU, and for nothing else.
    """
    # TODO: collate_fn gets what __getitems__ returned.
    ### BEGIN SOLUTION
    return DataLoader(
        dataset,
        batch_size,
        shuffle=True,
        generator=torch.Generator().manual_seed(seed),
        num_workers=workers,
        collate_fn=as_it_is,
        pin_memory=device.type == "cuda",
        persistent_workers=workers > 0,
    )
    ### END SOLUTION


def as_it_is(batch):
    """Return the batch as it comes: its rows are stacked already."""
    return batch


# %%
def bent(rows: Tensor) -> Tensor:
    """Work on each number, for any number of rows."""
    for _ in range(6):
        rows = rows.tanh().sin()
    return rows


class OneByOne(Rows):
    """The same rows; a DataLoader that finds no __getitems__ asks for each."""

    __getitems__ = None


class Counting(IterableDataset):
    """Ten samples, which each worker reads from the beginning."""

    def __iter__(self):
        """Yield them, without a look at get_worker_info()."""
        return iter(range(10))


def seconds(loader: DataLoader) -> float:
    """Return what an epoch takes, after one to warm up."""
    for _ in range(2):
        start = time.perf_counter()
        for _ in loader:
            pass
        passed = time.perf_counter() - start
    return passed


if __name__ == "__main__":
    torch.set_num_threads(1)
    cpu = torch.device("cpu")
    table = torch.randn(4000, 64), torch.arange(4000), bent
    print("device:", device_name(cpu))
    print(f"batches: {1000 * seconds(make_loader(Rows(*table), 64, 0, cpu)):.1f} ms an epoch")
    print(f"one by one: {1000 * seconds(DataLoader(OneByOne(*table), 64, shuffle=True)):.1f} ms an epoch")
    print("an iterable data set, 2 workers:", sum(len(batch) for batch in DataLoader(Counting(), 5, num_workers=2)))
