# %% [markdown]
# # Part 5: fewer bits
#
# A number of 16 bits moves in half the time of one of 32, and one of 8 bits in a quarter. Devices also multiply short
# numbers faster. Short numbers have a short range: float16 ends at 65504, float8_e4m3fn at 448. A scale moves values
# into that range: one for the loss, so that gradients fit, and one for each tensor in 8 bits.

# %%
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

# %% [markdown]
# ## 5.1 Mixed precision


# %%
def train_mixed(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    criterion: Callable[[Tensor, Tensor], Tensor],
    batches: Iterable[tuple[Tensor, Tensor]],
    scaler: torch.amp.GradScaler,
    dtype: torch.dtype,
) -> tuple[Tensor, int]:
    """Try one step for each batch in mixed precision; return the losses and how many optimizer steps were taken.

    Forward pass and loss run under autocast in *dtype*. Gradients are unscaled, then clipped to a total norm of 1.0.
    The scaler skips a batch whose gradients are not finite; that is no step.

    Losses are one float32 tensor with the loss of each batch, also of a skipped one; not scaled, without a graph.
    Batches may lie on another device than the model.
    """
    # TODO: torch.autocast(device.type, dtype). Count the optimizer's steps, for example by a hook of the optimizer.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## 5.2 What is kept for the backward pass


# %%
def kept_bytes(model: nn.Module, inputs: Tensor, dtype: torch.dtype | None = None) -> int:
    """Return the bytes that `model(inputs).float().square().mean()` keeps for its backward pass.

    It runs under autocast in *dtype*, or without autocast if that is None. Count each storage once,
    with all of its bytes, even if the kept tensor is a view of only a part of it. Parameters, buffers and inputs do not
    count, but their copies in another dtype do.
    """
    # TODO: torch.autograd.graph.saved_tensors_hooks calls you for each tensor that is kept.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## 5.3 Eight bits


# %%
def fp8_linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return x @ weight.T + bias, with a product that is computed in float8_e4m3fn.

    x: (..., k) of any number of rows, weight: (n, k), bias: (n,); all float32 or all bfloat16, not always
    contiguous. k and n are multiples of 16.
    Each operand is divided by its scale, such as its largest absolute value / 448. The scaled product multiplies its
    result by both scales, which you pass. The second operand is column-major. The result has the dtype of x. x, weight
    and bias get gradients. For the backward pass, keep x in FP8, and weight as it is: weight is
    not counted.
    """
    # TODO: write _Product below; for zeros, or for no numbers at all, the scale must not be 0.
    # YOUR CODE HERE
    raise NotImplementedError()


class _Product(torch.autograd.Function):
    """x @ weight.T for x (m, k) and weight (n, k)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        """Multiply in FP8, by torch.nn.functional.scaled_mm or torch._scaled_mm; keep what the backward pass needs."""
        # YOUR CODE HERE
        raise NotImplementedError()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:
        """Return the gradients of x and weight, in their dtype."""
        # YOUR CODE HERE
        raise NotImplementedError()


def _shortened(tensor: Tensor) -> tuple[Tensor, Tensor]:
    """Return *tensor* in FP8, row-major, and its scale: FP8 numbers times the scale are *tensor* again."""
    # YOUR CODE HERE
    raise NotImplementedError()


# %%
if __name__ == "__main__":
    torch.manual_seed(0)
    layers = [layer for _ in range(6) for layer in (nn.Linear(256, 256), nn.ReLU())]
    model = nn.Sequential(*layers)
    for rows in (8, 256, 512, 2048):
        plain, mixed = (kept_bytes(model, torch.randn(rows, 256), dtype) for dtype in (None, torch.bfloat16))
        print(f"{rows} rows: {plain:,} bytes kept in float32, {mixed:,} under autocast, {mixed / plain:.2f}x")
    x, weight = torch.randn(2048, 256), torch.randn(256, 256) / 16
    exact = x.double() @ weight.double().t()
    for name, result in {
        "float32": functional.linear(x, weight),
        "bfloat16": functional.linear(x.bfloat16(), weight.bfloat16()),
        "float8_e4m3fn": fp8_linear(x, weight),
    }.items():
        print(f"{name}: relative error {((result - exact).norm() / exact.norm()).item():.1e}")
