"""The part: what it has a student write, and how a call of attention is compared with its gradients."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
    passed: Sequence[Any] = [None] * len(leaves)
    upstream = inputs["upstream"]
    fits = getattr(result, "shape", None) == upstream.shape  # if not, that is what is said
    if fits and result.requires_grad:
        passed = torch.autograd.grad(result, leaves, upstream, allow_unused=True)
    gradients = {
        f"gradient of {name}": leaf.detach() if it is None and not leaf.numel() else it
        for name, leaf, it in zip("qkv", leaves, passed, strict=True)
    }
    return {"attention": result, **gradients}
