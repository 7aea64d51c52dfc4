"""What part 9 asks roofline about, and the right answers."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode

from autograder.worker.rig import Rig

__all__ = ["Calls", "Rig", "counted", "work"]


class Calls:
    """A function, and how often it was called."""

    def __init__(self, function: Callable[..., Any]) -> None:
        """Begin with no call."""
        self.calls, self._function = 0, function

    def __call__(self, *inputs: Any) -> Any:
        """Count the call."""
        self.calls += 1
        return self._function(*inputs)


def work(kind: str, rows: int, inner: int, columns: int) -> tuple[Any, tuple[Any, ...]]:
    """Return a function and its inputs."""
    made = SimpleNamespace(
        left=torch.ones(rows, inner),
        right=torch.ones(inner, columns),
        square=torch.ones(inner, inner),
        below=torch.ones(rows, columns),
        wide=torch.ones(rows, 2 * inner),
        heads=tuple(torch.ones(1, 2, rows, inner) for _ in range(3)),
        image=torch.ones(2, inner, 9, 8),
        kernels=torch.ones(columns, inner, 3, 3),
    )
    return WORK[kind](made)


WORK: dict[str, Callable[[Any], tuple[Any, tuple[Any, ...]]]] = {
    "a product": lambda it: (torch.mm, (it.left, it.right)),
    "attention": lambda it: (scaled_dot_product_attention, it.heads),
    "a convolution": lambda it: (torch.conv2d, (it.image, it.kernels)),
    "an addition": lambda it: (torch.add, (it.left, it.left.clone())),
    "a number among the inputs": lambda it: (torch.mul, (it.left, 2.0)),
    "a tensor passed twice": lambda it: (torch.mm, (it.square, it.square)),
    "two views of one storage": lambda it: (torch.mul, (it.wide[:, :-1], it.wide[:, 1:])),
    "a product and what follows": lambda it: (
        lambda x, y, z: torch.relu(x @ y + z).sum(),
        (it.left, it.right, it.below),
    ),
    "in place": lambda it: (lambda x, y, z: z.add_(x @ y), (it.left, it.right, it.below)),
    "two results": lambda it: (lambda x, y: (x @ y, x + 1), (it.left, it.right)),
    "bfloat16": lambda it: (torch.mm, (it.left.bfloat16(), it.right.bfloat16())),
}
"""Kind -> of tensors and torch, a function and its inputs."""


def counted(
    kind: str, rows: int, inner: int, columns: int, peak_flops: float, bandwidth: float
) -> dict[str, Any]:
    """Return the right answer."""
    function, inputs = work(kind, rows, inner, columns)
    with FlopCounterMode(display=False) as counted_flops:
        result = function(*inputs)
    tensors = [it for it in tree_leaves((inputs, result)) if hasattr(it, "untyped_storage")]
    sizes = {it.untyped_storage().data_ptr(): it.untyped_storage().nbytes() for it in tensors}
    flops, size = counted_flops.get_total_flops(), sum(sizes.values())
    compute, move = flops / peak_flops, size / bandwidth
    bound = "compute" if compute > move else "memory"
    return {
        "flops": flops,
        "bytes": size,
        "intensity": flops / size,
        "bound": bound,
        "seconds": max(compute, move),
        "calls of the function": 1,
    }
