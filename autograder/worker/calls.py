"""What claims hand to a student's function and see of it: arguments, gradients, precision flags, what a call costs."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

Given = dict[str, Any]


class Calls:
    """One worker's: *exact* on the baseline's side, where nothing is to be rounded."""

    def __init__(self, device: torch.device, *, exact: bool) -> None:
        """Keep where tensors go."""
        self._device, self._exact = device, exact

    def given(self, drawn: Mapping[str, Any], dtype: str, view: str, *, exact: bool) -> Given:
        """Make tensors of arrays: floating-point ones of *dtype*, unless another stands beside one; the rest stays."""
        exact = exact and self._exact
        self._dtypes = {name: _dtype(it, dtype) for name, it in drawn.items()}
        return {name: self._tensor(it, dtype, view, exact) for name, it in drawn.items()}

    def rounded(self, given: Given) -> Given:
        """Return the arguments in the dtypes that a student's function gets: what results have there."""
        kept = {name: it for name, it in given.items() if isinstance(it, Tensor)}
        return {
            **given,
            **{name: it.to(getattr(torch, self._dtypes[name])) for name, it in kept.items()},
        }

    def _tensor(self, value: Any, dtype: str, view: str, exact: bool) -> Any:
        wanted, value = _dtype(value, dtype), value[0] if isinstance(value, tuple) else value
        if not isinstance(value, np.ndarray):
            return value
        tensor = torch.from_numpy(np.ascontiguousarray(value)).to(
            self._device, getattr(torch, wanted)
        )
        tensor = tensor.double() if exact and tensor.is_floating_point() else tensor
        return _laid_out(tensor, view)

    @staticmethod
    def overwrite(given: Given, others: Given) -> Given:
        """Put other numbers into the same tensors; what is no tensor is replaced."""
        with torch.no_grad():
            for tensor, numbers in zip(tensors(given), tensors(others), strict=True):
                tensor.copy_(numbers)
        return {name: given[name] if isinstance(it, Tensor) else it for name, it in others.items()}

    @staticmethod
    def asked(given: Mapping[str, Any]) -> list[str]:
        """Name the arguments that may have a gradient."""
        return [
            name for name, it in given.items() if isinstance(it, Tensor) and it.is_floating_point()
        ]

    @staticmethod
    def gradients(
        call: Callable[[Given], Any], given: Given, names: Sequence[str], seed: int
    ) -> list[Tensor | None]:
        """Return the gradients of a drawn sum of all results, or None for what has none and is not empty."""
        leaves = [given[name].detach().requires_grad_() for name in names]
        returned = call({**given, **dict(zip(names, leaves, strict=True))})
        results = [
            it for it in tree_leaves(returned) if isinstance(it, Tensor) and it.requires_grad
        ]
        random = np.random.default_rng(seed)
        above = [torch.from_numpy(random.normal(size=tuple(it.shape))).to(it) for it in results]
        found = (
            torch.autograd.grad(results, leaves, above, allow_unused=True)
            if results
            else [None] * len(leaves)
        )
        pairs = zip(leaves, found, strict=True)
        return [leaf.detach() if it is None and not leaf.numel() else it for leaf, it in pairs]

    @staticmethod
    def flags() -> Flags:
        """Note which precision flags are not what they were before the student's file came."""
        return Flags()

    @staticmethod
    def cost(call: Callable[[Given], Any], given: Given) -> dict[str, int]:
        """Count what a call takes: operations, bytes that move, bytes made, bytes that are still held after it."""
        with Storages(tensors(given)) as seen:
            results = call(given)
        gc.collect()
        seen.leave_out(it for it in tree_leaves(results) if isinstance(it, Tensor))
        return {
            "operations": seen.operations,
            "moved": seen.moved,
            "made": seen.made,
            "held": seen.held,
        }


def _dtype(value: Any, dtype: str) -> str:
    """Name the dtype of what was drawn: the one beside it, or *dtype* for numbers, or its own."""
    if isinstance(value, tuple):
        return str(value[1])
    own = getattr(value, "dtype", np.dtype(float))
    return dtype if own.kind == "f" else str(own)


def tensors(given: Mapping[str, Any]) -> list[Tensor]:
    """Return the tensors among some arguments."""
    return [it for it in given.values() if isinstance(it, Tensor)]


def _laid_out(tensor: Tensor, view: str) -> Tensor:
    """Return a view that holds the same numbers in another order, or with others between them."""
    if view == "transposed" and tensor.dim() > 1:
        return tensor.transpose(-1, -2).contiguous().transpose(-1, -2)
    if view == "sliced" and tensor.dim() > 0:
        room = tensor.new_full((*tensor.shape[:-1], 2 * tensor.shape[-1]), 1)
        if tensor.is_floating_point():
            room.fill_(float("nan"))  # whoever reads what lies between gets no number
        room[..., ::2] = tensor
        return room[..., ::2]
    return tensor


def _flag(read: Callable[[], Any]) -> str:
    try:
        return str(read())
    except Exception as error:  # the old interface and the new one were mixed
        return type(error).__name__


FULL = {"highest", "none", "ieee", "False", ""}
"""What says that products are not rounded, in one interface or another."""
READ: dict[str, Callable[[], Any]] = {
    "torch.set_float32_matmul_precision": torch.get_float32_matmul_precision,
    "torch.backends.cuda.matmul.allow_tf32": lambda: torch.backends.cuda.matmul.allow_tf32,
    "torch.backends.cudnn.allow_tf32": lambda: torch.backends.cudnn.allow_tf32,
    "torch.backends.mkldnn.matmul.fp32_precision": lambda: (
        torch.backends.mkldnn.matmul.fp32_precision  # type: ignore[attr-defined]
    ),
    "ONEDNN_DEFAULT_FPMATH_MODE": lambda: os.environ.get("ONEDNN_DEFAULT_FPMATH_MODE", ""),
}


def _flags() -> dict[str, str]:
    return {name: _flag(read) for name, read in READ.items()}


AT_FIRST = _flags()
"""In the process that workers are forked from, where no student's code ever ran."""


class Flags(TorchDispatchMode):
    """Looks at the precision flags at each operation, and once more at the end."""

    def __init__(self) -> None:
        """None has changed."""
        super().__init__()  # type: ignore[no-untyped-call]
        self.changed: dict[str, str] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Look, then compute."""
        self.look()
        return func(*args, **(kwargs or {}))

    def look(self) -> None:
        """Note what differs now."""
        self.changed |= {
            name: now for name, now in _flags().items() if now not in {AT_FIRST[name], *FULL}
        }

    def values(self) -> list[str]:
        """Say which flags changed, and what they became."""
        self.look()
        return [f"{name} ({now})" for name, now in self.changed.items()]


class Storages(TorchDispatchMode):
    """Counts operations and bytes, each storage that is made once; arguments were there before."""

    def __init__(self, arguments: Sequence[Tensor]) -> None:
        """Start at nothing."""
        super().__init__()  # type: ignore[no-untyped-call]
        self.operations = self.moved = self.made = 0
        self._known = {_key(it) for it in arguments}
        self._alive: dict[int, tuple[StorageWeakRef, int]] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Compute, then count."""
        result = func(*args, **(kwargs or {}))
        self.operations += 1
        touched = [it for it in tree_leaves((args, kwargs, result)) if isinstance(it, Tensor)]
        self.moved += 0 if func.is_view else sum(it.nbytes for it in touched)
        for it in tree_leaves(result):
            if isinstance(it, Tensor):
                self._note(it)
        return result

    def _note(self, tensor: Tensor) -> None:
        key = _key(tensor)
        ref, _ = self._alive.get(key, (None, 0))
        if key in self._known or (ref is not None and not ref.expired()):
            return
        size = tensor.untyped_storage().nbytes()
        self.made += size
        self._alive[key] = StorageWeakRef(tensor.untyped_storage()), size

    def leave_out(self, results: Iterator[Tensor]) -> None:
        """What is returned is not held."""
        for it in results:
            self._alive.pop(_key(it), None)

    @property
    def held(self) -> int:
        """Return the bytes that are there still."""
        return sum(size for ref, size in self._alive.values() if not ref.expired())


def _key(tensor: Tensor) -> int:
    return int(tensor.untyped_storage()._cdata)
