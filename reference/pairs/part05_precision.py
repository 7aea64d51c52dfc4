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
    ### BEGIN SOLUTION
    device, losses, taken = next(model.parameters()).device, [], []
    handle = optimizer.register_step_post_hook(lambda *_: taken.append(1))
    for inputs, targets in batches:
        optimizer.zero_grad()
        with torch.autocast(device.type, dtype):
            loss = criterion(model(inputs.to(device)), targets.to(device))
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.detach().float())
    handle.remove()
    return torch.stack(losses), len(taken)
    ### END SOLUTION


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
    ### BEGIN SOLUTION
    own = {it.untyped_storage().data_ptr() for it in (*model.parameters(), *model.buffers(), inputs)}
    kept = {}

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor.detach()  # keeps the storage alive, so that no other one gets its address

    autocast = torch.autocast(inputs.device.type, dtype, enabled=dtype is not None)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor), autocast:
        loss = model(inputs).float().square().mean()
    del loss
    return sum(kept.values())
    ### END SOLUTION


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
    ### BEGIN SOLUTION
    rows = _Product.apply(x.reshape(-1, x.shape[-1]), weight)
    result = rows.view(*x.shape[:-1], weight.shape[0])
    return result if bias is None else result + bias
    ### END SOLUTION


class _Product(torch.autograd.Function):
    """x @ weight.T for x (m, k) and weight (n, k)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        """Multiply in FP8, by torch.nn.functional.scaled_mm or torch._scaled_mm; keep what the backward pass needs."""
        ### BEGIN SOLUTION
        short, scale = _shortened(x)
        short_weight, weight_scale = _shortened(weight)
        ctx.save_for_backward(short, scale, short_weight, weight_scale)
        one = functional.ScalingType.TensorWise
        return functional.scaled_mm(short, short_weight.t(), scale, one, weight_scale, one, output_dtype=x.dtype)
        ### END SOLUTION

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:
        """Return the gradients of x and weight, in their dtype."""
        ### BEGIN SOLUTION
        short, scale, short_weight, weight_scale = ctx.saved_tensors
        x = (short.float() * scale).to(gradient.dtype)
        weight = (short_weight.float() * weight_scale).to(gradient.dtype)
        return gradient @ weight, gradient.t() @ x
        ### END SOLUTION


def _shortened(tensor: Tensor) -> tuple[Tensor, Tensor]:
    """Return *tensor* in FP8, row-major, and its scale: FP8 numbers times the scale are *tensor* again."""
    ### BEGIN SOLUTION
    largest = tensor.abs().amax().float() if tensor.numel() else torch.zeros((), device=tensor.device)
    scale = largest.clamp(min=1e-30) / torch.finfo(torch.float8_e4m3fn).max
    return (tensor.float() / scale).to(torch.float8_e4m3fn).contiguous(), scale
    ### END SOLUTION


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
