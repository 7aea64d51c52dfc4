# %% [markdown]
# # Bonus: a kernel for an operation of a transformer
#
# Each block of a transformer adds its result to its input, and normalises the sum. In PyTorch that is seven operators,
# and each reads from memory what the one before it wrote there. One kernel reads the rows of both inputs once, and
# writes the rows of both results.
#
# Triton runs on NVIDIA GPUs. Without one, `given.tiles` lets its interpreter run the kernel on a CPU, one program after
# another, in numpy: slowly, and with the same numbers.

# %%
from __future__ import annotations

import statistics
import time
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from given import Launches, device_name, saved_bytes
from given.tiles import HAS_TRITON, jit, tl

# %% [markdown]
# ## B.1 The kernel


# %%
@jit
def add_norm_kernel(x, residual, weight, normed, total, root, width, eps, BLOCK: tl.constexpr):  # noqa: N803
    """One program for each row: total = x + residual, root = 1 / sqrt(mean(total^2) + eps), normed =
    total * root * weight. root has one number for each row.

    BLOCK is a power of two, at least *width*. tl is triton.language; tl.constexpr marks a number that is known when the
    kernel is compiled. Pass it at the launch: add_norm_kernel[(rows,)](x, residual, ..., BLOCK=256).
    """
    # TODO: the tensors arrive as addresses: tl.load(x + row * width + tl.arange(0, BLOCK), mask=..., other=0.0) reads a
    # row of x; tl.sum over the row; store both results and one number for the row.
    ### BEGIN SOLUTION
    row = tl.program_id(0).to(tl.int64)
    places = tl.arange(0, BLOCK)
    inside = places < width
    here = row * width + places
    numbers = tl.load(x + here, mask=inside, other=0.0).to(tl.float32)
    numbers += tl.load(residual + here, mask=inside, other=0.0).to(tl.float32)
    factor = 1.0 / tl.sqrt(tl.sum(numbers * numbers, axis=0) / width + eps)
    scale = tl.load(weight + places, mask=inside, other=0.0).to(tl.float32)
    tl.store(total + here, numbers, mask=inside)
    tl.store(normed + here, numbers * factor * scale, mask=inside)
    tl.store(root + row, factor)
    ### END SOLUTION


# %% [markdown]
# ## B.2 The function
#
# A kernel knows nothing of gradients. An `autograd.Function` says what is kept, and how gradients are computed from
# that. Let r = 1 / sqrt(mean(total^2) + eps) and g = (gradient of normed) * weight. Then the gradient of total is
# r * g - total * r^3 * mean(g * total), plus the gradient that came in for total itself. x and residual both get this
# sum. The gradient of weight is (gradient of normed) * total * r, added up over all rows. Operators of PyTorch may
# compute all of this.


# %%
class AddNorm(torch.autograd.Function):
    """add_norm with its gradients."""

    @staticmethod
    def forward(ctx, x, residual, weight, eps):
        """Launch the kernel once; keep total, weight and one number for each row."""
        # TODO: rows of any leading shape; a kernel sees only addresses, so call .contiguous() first.
        ### BEGIN SOLUTION
        x, residual, weight = x.contiguous(), residual.contiguous(), weight.contiguous()
        width = x.shape[-1]
        rows = x.numel() // max(1, width)
        normed, total = torch.empty_like(x), torch.empty_like(x)
        root = x.new_empty(rows, dtype=torch.float32)
        if rows:
            block = 1 << (width - 1).bit_length()
            add_norm_kernel[(rows,)](x, residual, weight, normed, total, root, width, eps, BLOCK=block)
        ctx.save_for_backward(total, weight, root)
        return normed, total
        ### END SOLUTION

    @staticmethod
    def backward(ctx, normed_gradient, total_gradient):
        """Return the gradients of x, residual, weight, and None for eps."""
        # TODO: x and residual have the same gradient.
        ### BEGIN SOLUTION
        total, weight, root = ctx.saved_tensors
        root = root.view(*total.shape[:-1], 1)
        numbers, above = total.float(), normed_gradient.float()
        scaled = above * weight.float()
        mean = (scaled * numbers).mean(-1, keepdim=True)
        inner = root * scaled - numbers * root**3 * mean
        inner = (inner + total_gradient.float()).to(total.dtype)
        of_weight = (above * numbers * root).reshape(-1, total.shape[-1]).sum(0)
        return inner, inner, of_weight.to(weight.dtype), None
        ### END SOLUTION


def add_norm(x, residual, weight, eps=1e-6) -> tuple[torch.Tensor, torch.Tensor]:
    """Return (normed, total): total = x + residual, normed = total / sqrt(mean(total^2) + eps) * weight, row by row.

    x and residual have any leading shape and any width, weight has that width; float32 or bfloat16, all three alike.
    One launch of add_norm_kernel computes both.
    """
    # TODO: AddNorm.apply
    ### BEGIN SOLUTION
    return AddNorm.apply(x, residual, weight, eps)
    ### END SOLUTION


# %% [markdown]
# ## B.3 What it brings

# %%
COLUMNS = ["version", "width", "launches", "bytes", "saved_bytes", "ms", "device"]


def measure_kernel(versions, shapes, folder=".") -> list[dict[str, Any]]:
    """Measure each version at each shape (rows, width); return one row for each, and write kernel_costs.csv.

    *versions* maps names to functions like add_norm. launches and bytes (read and written) are those of a forward pass,
    saved_bytes what it keeps for the backward pass, ms the median of five calls after a warm-up.
    """
    # TODO: given.Launches and given.saved_bytes count. Take times with time.perf_counter(); on a GPU, call
    # torch.cuda.synchronize() before you read it.
    ### BEGIN SOLUTION
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    def timed(function, *inputs):
        start = time.perf_counter()
        function(*inputs)
        if device.type == "cuda":
            torch.cuda.synchronize()
        return 1000 * (time.perf_counter() - start)

    rows = []
    for shape in shapes:
        x, residual = torch.randn(shape, device=device), torch.randn(shape, device=device)
        weight = torch.rand(shape[-1], device=device) + 0.5
        inputs = (x, residual, weight)
        for name, function in versions.items():
            timed(function, *inputs)
            with Launches() as seen:
                function(*inputs)
            kept = saved_bytes(function, *inputs)
            ms = statistics.median(timed(function, *inputs) for _ in range(5))
            values = (name, shape[-1], seen.count, seen.bytes, kept, ms, device_name(device))
            rows.append(dict(zip(COLUMNS, values, strict=True)))
    pd.DataFrame(rows, columns=COLUMNS).to_csv(Path(folder) / "kernel_costs.csv", index=False)
    return rows
    ### END SOLUTION


# %%
def eager(x, residual, weight, eps=1e-6):
    """Return the same by operators of PyTorch."""
    total = x + residual
    return total / (total.pow(2).mean(-1, keepdim=True) + eps).sqrt() * weight, total


if __name__ == "__main__":
    torch.set_num_threads(1)
    versions = {"eager": eager}
    if HAS_TRITON:
        versions["kernel"] = add_norm
    print(pd.DataFrame(measure_kernel(versions, [(64, 256), (64, 1000), (64, 4096)])).to_string(index=False))
