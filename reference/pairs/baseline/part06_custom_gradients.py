"""Part 6, the plain way: autograd keeps what each operation needs, and all logits at once."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional


def swiglu(gate: Tensor, up: Tensor) -> Tensor:
    """Keep silu(gate) as well, for the gradient of the product."""
    return functional.silu(gate) * up


def head_loss(hidden: Tensor, weight: Tensor, labels: Tensor, rows: int = 128) -> Tensor:
    """Make all logits, and keep their logarithms of the softmax."""
    return functional.cross_entropy(hidden @ weight.T, labels)
