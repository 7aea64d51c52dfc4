"""Recorders that count: operations, bytes moved and made, bytes kept for backward. They read and never judge."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable
from typing import Any, Self

import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._pytree import tree_leaves

from autograder.worker.rigs.eager import Watch
from autograder.worker.rigs.sectors import layout, touched


class Counter(Watch):
    """Counts the operations that torch is asked for, and bytes: each storage that is made once, views never."""

    def __init__(self, before: Iterable[Tensor] = ()) -> None:
        """Start at nothing; some tensors were there *before*."""
        super().__init__()
        self.operations = 0
        """All of them, views included: each costs the host the same."""
        self.count = self.bytes = 0
        """Of those that compute, and what they read and write."""
        self.made = 0
        self._layouts: collections.Counter[Any] = collections.Counter()
        self._before = {_key(it) for it in tensors_in(list(before))}
        self._alive: dict[int, tuple[StorageWeakRef, int]] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Compute, then count."""
        result = func(*args, **(kwargs or {}))
        self.operations += 1
        if not func.is_view:
            self.count += 1
            operands = tensors_in((args, kwargs, result))
            self.bytes += sum(it.nbytes for it in operands)
            self._layouts.update(map(layout, operands))
        for it in tensors_in(result):
            self._note(it)
        return result

    def _note(self, tensor: Tensor) -> None:
        key = _key(tensor)
        reference, _ = self._alive.get(key, (None, 0))
        if key in self._before or (reference is not None and not reference.expired()):
            return
        size = tensor.untyped_storage().nbytes()
        self.made += size
        self._alive[key] = StorageWeakRef(tensor.untyped_storage()), size

    def leave_out(self, results: Iterable[Tensor]) -> None:
        """What is returned is not held."""
        for it in results:
            self._alive.pop(_key(it), None)

    @property
    def touched(self) -> int:
        """Return the bytes of the sectors in which the operands of each operation lie."""
        return sum(times * touched(*each) for each, times in self._layouts.items())

    @property
    def held(self) -> int:
        """Return the bytes that are there still."""
        return sum(size for reference, size in self._alive.values() if not reference.expired())


class Saved:
    """Adds up the bytes that autograd keeps for the backward pass, each storage once and the inputs not."""

    def __init__(self, inputs: Iterable[Tensor]) -> None:
        """Leave out the inputs, which are there anyway."""
        self._before = {it.untyped_storage().data_ptr() for it in tensors_in(list(inputs))}
        self._sizes: dict[int, int] = {}

    def _pack(self, tensor: Tensor) -> Tensor:
        for storage in (it.untyped_storage() for it in tensors_in(tensor)):
            if storage.data_ptr() not in self._before:
                self._sizes[storage.data_ptr()] = storage.nbytes()
        return tensor.detach()  # the tensor itself would form a cycle that nothing frees

    def __enter__(self) -> Self:
        """Watch what is saved."""
        self._hooks = saved_tensors_hooks(self._pack, lambda tensor: tensor)
        self._hooks.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        """Stop watching."""
        self._hooks.__exit__(*error)

    @property
    def bytes(self) -> int:
        """All of them."""
        return sum(self._sizes.values())


PIECES: dict[torch.layout, Callable[[Any], tuple[Tensor, ...]]] = {
    torch.sparse_coo: lambda it: (it._indices(), it._values()),
    torch.sparse_csr: lambda it: (it.crow_indices(), it.col_indices(), it.values()),
    torch.sparse_csc: lambda it: (it.ccol_indices(), it.row_indices(), it.values()),
}
"""Of what a sparse tensor consists: it has no storage itself."""


def _key(tensor: Tensor) -> int:
    return int(tensor.untyped_storage()._cdata)


def tensors_in(values: Any) -> list[Tensor]:
    """Return the tensors among some values, however deep; of a sparse one those that hold its numbers."""
    found = [it for it in tree_leaves(values) if isinstance(it, Tensor)]
    return [piece for it in found for piece in _pieces(it)]


def _pieces(tensor: Tensor) -> tuple[Tensor, ...]:
    of_sparse = PIECES.get(tensor.layout)
    return of_sparse(tensor) if of_sparse else (tensor,)
