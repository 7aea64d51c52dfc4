"""What a timed data set reads from, and what came out of a loader."""

from __future__ import annotations

import mmap
import socket
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from multiprocessing import reduction
from time import sleep
from typing import Any

import numpy as np
import torch

from autograder.protocol.digest import commitment
from autograder.worker.rigs.returned import BadReturn

LOOK_SECONDS = 0.0005
LEAVES = 16  # tensors of a batch


class Store(Sequence[int]):
    """The worker's end of a store: asks for a sample, and waits until its key is there. All processes may read."""

    def __init__(self, keys: int, asks: int) -> None:
        self._fd = keys
        self._keys = np.frombuffer(mmap.mmap(keys, 0, access=mmap.ACCESS_READ), np.uint64)
        self._asks = socket.socket(fileno=asks)

    def __reduce__(self) -> tuple[Any, ...]:
        """Be handed to a process that is started and not forked: it gets the memory itself, not a copy."""
        return _reopened, tuple(reduction.DupFd(fd) for fd in (self._fd, self._asks.fileno()))

    def __len__(self) -> int:
        return len(self._keys)

    def __getitem__(self, index: Any) -> Any:
        at = range(len(self))[index]
        self._asks.send(at.to_bytes(8, "little"))
        while not (key := int(self._keys[at])):
            sleep(LOOK_SECONDS)
        return key


def _reopened(keys: Any, asks: Any) -> Store:
    return Store(keys.detach(), asks.detach())


def epoch(loader: Any) -> dict[str, np.ndarray[Any, Any]]:
    """Go through a loader once: a commitment to each sample, and the sizes of batches."""
    commitments, sizes = list[bytes](), list[int]()
    for batch in _iterated(loader):
        rows = _rows(batch)
        sizes.append(len(rows))
        commitments += [commitment(row) for row in rows]
    return {
        "commitments": np.frombuffer(b"".join(commitments), np.uint8),
        "sizes": np.array(sizes, np.int64),
    }


def _iterated(loader: Any) -> Iterator[Any]:
    if not isinstance(loader, Iterable):
        raise BadReturn("what was returned cannot be iterated over; return a DataLoader")
    return iter(loader)


def _rows(batch: Any) -> np.ndarray[Any, Any]:
    """Return the bytes of each sample, one row each, whatever tensors it consists of."""
    leaves = list(islice(_leaves(batch), LEAVES))
    if (
        not leaves
        or len({len(leaf) if leaf.ndim else -1 for leaf in leaves}) != 1
        or not leaves[0].ndim
    ):
        raise BadReturn(
            "a batch is no tensor, tuple, list or dict of tensors that hold equally many samples"
        )
    flat = [leaf.detach().cpu().reshape(len(leaf), -1).contiguous() for leaf in leaves]
    return np.concatenate([rows.view(torch.uint8).numpy() for rows in flat], axis=1)


def _leaves(batch: Any) -> Iterator[torch.Tensor]:
    if isinstance(batch, torch.Tensor):
        yield batch
    elif isinstance(batch, dict):
        yield from _leaves(list(batch.values()))
    elif isinstance(batch, list | tuple):
        for item in batch[:LEAVES]:
            yield from _leaves(item)
