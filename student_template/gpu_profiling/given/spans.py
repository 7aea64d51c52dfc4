"""Named ranges that both profilers record: torch.profiler by record_function, Nsight Systems by NVTX.

torch.profiler marks steps and waits for the loader by itself; for Nsight Systems `spanned` does, under the same names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.profiler import record_function

LOADER = "enumerate(DataLoader)"


@contextmanager
def span(name: str) -> Iterator[None]:
    """Give a name to what runs inside."""
    with _nvtx(name), record_function(name):
        yield


def spanned(loader: Iterable[Any]) -> Iterator[Any]:
    """Yield the batches of a loader; each wait for one and each step is an NVTX range."""
    batches, number, end = iter(loader), 0, object()
    while True:
        with _nvtx(f"ProfilerStep#{number}"):
            with _nvtx(f"{LOADER}.__next__"):
                batch = next(batches, end)
            if batch is end:
                return
            yield batch
        number += 1


@contextmanager
def _nvtx(name: str) -> Iterator[None]:
    there = torch.cuda.is_available()
    if there:
        torch.cuda.nvtx.range_push(name)
    try:
        yield
    finally:
        if there:
            torch.cuda.nvtx.range_pop()
