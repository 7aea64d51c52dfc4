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
    # YOUR CODE HERE
    raise NotImplementedError()


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
        # YOUR CODE HERE
        raise NotImplementedError()

    @staticmethod
    def backward(ctx, normed_gradient, total_gradient):
        """Return the gradients of x, residual, weight, and None for eps."""
        # TODO: x and residual have the same gradient.
        # YOUR CODE HERE
        raise NotImplementedError()


def add_norm(x, residual, weight, eps=1e-6) -> tuple[torch.Tensor, torch.Tensor]:
    """Return (normed, total): total = x + residual, normed = total / sqrt(mean(total^2) + eps) * weight, row by row.

    x and residual have any leading shape and any width, weight has that width; float32 or bfloat16, all three alike.
    One launch of add_norm_kernel computes both.
    """
    # TODO: AddNorm.apply
    # YOUR CODE HERE
    raise NotImplementedError()


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
    # YOUR CODE HERE
    raise NotImplementedError()


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
