"""The part: what it has a student write, and how a call of attention is compared with its gradients."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from autograder.lab import Part

WRONG = 'see "What usually goes wrong" in the part 7 handout'
# The first call of flex_attention imports what compiles it.
part = Part(
    "part07_attention",
    writes=["window_mask"],
    warm=["torch.nn.attention.flex_attention", "torch._dynamo"],
)


def with_gradients(run: Callable[..., Any], inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result for q, k and v, and their gradients."""
    import torch

    leaves = [inputs[name].detach().requires_grad_() for name in "qkv"]
    result = run(*leaves)
    found = [None] * len(leaves)
    if result.requires_grad:
        found = torch.autograd.grad(result, leaves, inputs["upstream"], allow_unused=True)
    gradients = {
        f"gradient of {name}": leaf.detach() if it is None and not leaf.numel() else it
        for name, leaf, it in zip("qkv", leaves, found, strict=True)
    }
    return {"attention": result, **gradients}
