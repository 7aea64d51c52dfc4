# %% [markdown]
# # Part 6: float16
#
# A float16 has half the bytes of a float32, and a GPU multiplies it many times as fast. But it holds fewer numbers:
# nothing above 65504, nothing between 0 and 6e-8, and only three digits. Gradients are often smaller than 6e-8, and an
# update of a weight is often smaller than the last digit of the weight. Two ideas keep a training right: the loss is
# scaled, so that gradients fit, and the optimizer works on the float32 weights, the masters, while a float16 copy
# computes.
#
# `torch.autocast` and `GradScaler` do this for you. Here you write it by hand.

# %%
from __future__ import annotations

import copy
import math

import torch
from torch import Tensor

# %% [markdown]
# ## 6.1 What fits


# %%
def describe(dtype: torch.dtype) -> dict[str, float]:
    """Return max, smallest_normal, smallest (above 0) and eps of a floating-point dtype.

    eps is the distance from 1 to the next larger number.
    """
    # TODO: torch.finfo has three of them. Below smallest_normal there are numbers with fewer digits.
    # YOUR CODE HERE
    raise NotImplementedError()


def lost_share(values: Tensor, dtype: torch.dtype, scale: float = 1.0) -> dict[str, float]:
    """Return which share of the nonzero values is lost when values * scale becomes *dtype*.

    underflow: the share that becomes 0; overflow: the share that becomes infinite. Both are 0 if no value is nonzero.
    """
    # TODO: zeros do not count; there may be no values at all.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## 6.2 The scale


# %%
def largest_scale(values: Tensor, dtype: torch.dtype) -> float | None:
    """Return the largest power of two with which none of values * scale becomes infinite; None if all values are 0.

    All values are finite.
    """
    # TODO: a value just above the largest number is rounded down to it: 65519 becomes 65504 in float16.
    # TODO: multiply in float64: for bfloat16 the scale may be too large for float32.
    # YOUR CODE HERE
    raise NotImplementedError()


def next_scale(scale: float, good_steps: int, overflow: bool, growth_interval: int = 2000) -> tuple[float, int]:
    """Return (scale, good_steps) for the next step.

    good_steps counts the steps without overflow since it was last set to 0. After an overflow the scale is halved and
    the count is 0. After *growth_interval* steps without one the count is 0 again, and the scale is doubled unless that
    is infinite in float32.
    """
    # TODO: good_steps does not count this step yet.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## 6.3 A training


# %%
def train_half(model, batches, criterion, make_optimizer, scale: float = 1024.0) -> dict:
    """Train *model*, whose float32 parameters are the masters, with a float16 copy that computes; return a dict.

    *model* has no buffers.

    batches: list of (inputs, targets), float32. For each one: outputs of the copy, criterion(outputs, targets) in
    float32, backward of the loss times *scale*. If a gradient is not finite, skip the batch. Else each master gets its
    gradient in float32, divided by *scale*; the optimizer, which is make_optimizer(model.parameters()), takes a step;
    the masters are copied into the copy.

    losses: a float for each batch, not scaled; skipped: how many batches were not stepped.
    """
    # TODO: convert gradients to float32 before you divide them: in float16, small ones are rounded away again.
    # YOUR CODE HERE
    raise NotImplementedError()


# %%
if __name__ == "__main__":
    for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float8_e5m2, torch.float8_e4m3fn):
        print(dtype, describe(dtype))
    gradients = 1e-7 * torch.randn(10_000, generator=torch.Generator().manual_seed(0))
    for scale in (1.0, 32.0, 1024.0, largest_scale(gradients, torch.float16)):
        print(f"gradients of 1e-7 times {scale:g}:", lost_share(gradients, torch.float16, scale))
