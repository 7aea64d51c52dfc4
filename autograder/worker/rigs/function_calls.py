"""What claims hand to a student's function and see of it: arguments, gradients, precision flags, what a call costs."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from autograder.worker.rigs.counters import Counter, tensors_in
from autograder.worker.rigs.eager import without_compiler
from autograder.worker.rigs.flops import Flops
from autograder.worker.rigs.operands import Operands
from autograder.worker.rigs.product_precision import Precision

Given = dict[str, Any]


class Calls:
    """One worker's: *exact* on the baseline's side, where nothing is to be rounded."""

    def __init__(self, device: torch.device, *, exact: bool) -> None:
        """Keep where tensors go."""
        self._device, self._exact = device, exact

    def given(
        self,
        drawn: Mapping[str, Any],
        dtype: str,
        view: str,
        *,
        exact: bool,
    ) -> Given:
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
        wanted = _dtype(value, dtype)
        value = value[0] if isinstance(value, tuple) else value
        if not isinstance(value, np.ndarray):
            return value
        once = tuple(slice(None if step else 1) for step in value.strides)  # of what is broadcast
        tensor = torch.from_numpy(np.array(value[once], order="K"))
        tensor = tensor.to(self._device, getattr(torch, wanted))
        tensor = tensor.double() if exact and tensor.is_floating_point() else tensor
        return _laid_out(tensor.expand(value.shape), view)

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
        call: Callable[[Given], Any],
        given: Given,
        names: Sequence[str],
        seed: int,
    ) -> list[Tensor | None]:
        """Return the gradients of a drawn sum of all results, or None for what has none and is not empty."""
        leaves = [given[name].detach().requires_grad_() for name in names]
        returned = call(
            {
                **given,
                **dict(zip(names, map(_computed, leaves), strict=True)),
            }
        )
        results = [it for it in tensors_in(returned) if it.requires_grad]
        random = np.random.default_rng(seed)
        above = [torch.from_numpy(random.normal(size=tuple(it.shape))).to(it) for it in results]
        if results:  # as a training does: not all that is right works with autograd.grad
            torch.autograd.backward(results, above)
        return [
            leaf.detach() if leaf.grad is None and not leaf.numel() else leaf.grad
            for leaf in leaves
        ]

    @classmethod
    def backward(cls, call: Callable[[Given], Any], given: Given) -> Given:
        """Call, and go back to arguments that were computed, as in a network; return these."""
        given = cls.computed(given)
        with contextlib.suppress(Exception):  # other claims say what it raises
            torch.autograd.backward([it.sum() for it in tensors_in(call(given))])
        return given

    @classmethod
    def computed(cls, given: Given) -> Given:
        """Return arguments that have a gradient and were computed, as in a network."""
        return given | {name: _computed(given[name].requires_grad_()) for name in cls.asked(given)}

    @classmethod
    def flops(cls, call: Callable[[Given], Any], given: Given, names: Sequence[str]) -> int:
        """Count the floating-point operations of a call's matrix products, those of the backward pass included."""
        with without_compiler(), Flops() as counter:
            cls.gradients(call, given, names, 0)
        return int(counter.get_total_flops())

    @staticmethod
    def flags() -> Precision:
        """Note which settings lower the precision of products, and did not before the student's file came."""
        return Precision()

    @staticmethod
    def cost(call: Callable[[Given], Any], given: Given) -> dict[str, int]:
        """Count what a call takes: operations, bytes that move, are touched, are made, are still held after it."""
        with Counter(tensors(given)) as counter:
            results = call(given)
        gc.collect()
        counter.leave_out(tensors_in(results))
        names = {
            "operations": counter.operations,
            "computed": counter.count,
            "moved": counter.bytes,
            "touched": counter.touched,
            "made": counter.made,
        }
        return {**names, "held": counter.held}

    @staticmethod
    def operands(
        call: Callable[[Given], Any], given: Given, operators: Sequence[str]
    ) -> dict[str, Any]:
        """Note what some operators are given in a call, and which others run."""
        with Operands(operators) as operands:
            call(given)
        return operands.values()


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


def _computed(leaf: Tensor) -> Tensor:
    """Return what may be written into, with the strides of a leaf where a copy keeps them."""
    copied = leaf.clone()
    return copied if copied.stride() == leaf.stride() else leaf
