"""Recorders that count: operations, bytes moved, bytes kept for the backward pass. They read and never judge."""

from __future__ import annotations

import gc
from collections.abc import Iterable
from typing import Any, Self

import torch
from torch import Tensor
from torch.nn import Parameter
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class Ops(TorchDispatchMode):
    """Counts the operations that torch was asked for, views included: each costs the host the same."""

    def __init__(self) -> None:
        """Start at none."""
        super().__init__()  # type: ignore[no-untyped-call]
        self.count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Count, then compute."""
        self.count += 1
        return func(*args, **(kwargs or {}))


class Traffic(TorchDispatchMode):
    """Adds up the bytes that operators read and write, and counts those operators; views move nothing."""

    def __init__(self) -> None:
        """Start at none."""
        super().__init__()  # type: ignore[no-untyped-call]
        self.count = self.bytes = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Compute, then count."""
        result = func(*args, **(kwargs or {}))
        if not func.is_view:
            self.count += 1
            self.bytes += sum(
                it.nbytes for it in tree_leaves((args, kwargs, result)) if isinstance(it, Tensor)
            )
        return result


class Saved:
    """Adds up the bytes that autograd keeps for the backward pass, each storage once and the inputs not."""

    def __init__(self, inputs: Iterable[Tensor]) -> None:
        """Leave out the inputs, which are there anyway."""
        self._before = {tensor.untyped_storage().data_ptr() for tensor in inputs}
        self._sizes: dict[int, int] = {}
        self._kept: list[Tensor] = []

    def _pack(self, tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in self._before:
            self._sizes[storage.data_ptr()] = storage.nbytes()
        return tensor.detach()  # the tensor itself would form a cycle that nothing frees

    def __enter__(self) -> Self:
        """Watch what is saved."""
        self._before |= _in_python().keys()
        self._hooks = torch.autograd.graph.saved_tensors_hooks(self._pack, lambda tensor: tensor)
        self._hooks.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        """Stop watching."""
        self._hooks.__exit__(*error)

    @property
    def bytes(self) -> int:
        """All of them."""
        return sum(self._sizes.values())

    @property
    def held(self) -> int:
        """All of them, and what Python holds that was not there before: on a context, in a list, in a closure."""
        found = {**_in_python(), **self._sizes}
        return sum(size for place, size in found.items() if place not in self._before)


def _in_python() -> dict[int, int]:
    """Return the bytes of each storage that a tensor of Python's holds, by place."""
    gc.collect()
    storages = [it.untyped_storage() for it in gc.get_objects() if type(it) in (Tensor, Parameter)]
    return {storage.data_ptr(): storage.nbytes() for storage in storages}
