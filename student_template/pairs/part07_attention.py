# %% [markdown]
# # Part 7: a window of keys
#
# In sliding-window attention each position sees itself and a fixed number of positions before it. Of the matrix of
# scores only a band is needed: at 2048 positions and a window of 128, that is 6 % of it. A mask on the whole matrix
# computes all of it and then throws most of it away.
#
# You leave the rest out in two ways: you tell FlexAttention which blocks hold nothing, and you cut the band yourself.

# %%
from __future__ import annotations

import time

import torch
from torch import Tensor
from torch.nn.attention.flex_attention import BlockMask, create_block_mask, flex_attention
from torch.nn.functional import scaled_dot_product_attention

from given import device_name, live_peak

# %% [markdown]
# ## 7.1 FlexAttention
#
# A `BlockMask` says which pairs of positions count, and which blocks of 128 x 128 hold no such pair. A kernel that is
# compiled from it skips those blocks.


# %%
def window_mask(length: int, window: int, device) -> BlockMask:
    """Return the mask with which position i sees j when i - window < j <= i, in blocks of 128 x 128."""
    # TODO: create_block_mask calls your function with tensors of positions; use & and no "and".
    # YOUR CODE HERE
    raise NotImplementedError()


def windowed_attention(q: Tensor, k: Tensor, v: Tensor, mask: BlockMask, slopes: Tensor | None = None) -> Tensor:
    """Return attention of (batch, heads, n, d) tensors by flex_attention, with this mask.

    slopes: (heads,). flex_attention scales scores by 1 / sqrt(d); then slopes[head] * (i - j) is subtracted.
    It must run both as it is and inside torch.compile; do not compile it here.
    """
    # TODO: score_mod gets one score and its places: (score, batch, head, i, j).
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## 7.2 The band by hand


# %%
def banded_attention(q: Tensor, k: Tensor, v: Tensor, window: int) -> Tensor:
    """Return attention of (batch, heads, n, d) tensors in which i sees j when i - window < j <= i.

    With gradients, on any device, for any n (0 included), and without a matrix of n x n.
    """
    # TODO: rows start:stop see keys start - window + 1 to stop - 1, and no others.
    # YOUR CODE HERE
    raise NotImplementedError()


# %%
def milliseconds(function, *inputs, calls=5) -> float:
    """Return the fastest of a few calls, after a warm-up."""
    function(*inputs)
    taken = []
    for _ in range(calls):
        began = time.perf_counter()
        function(*inputs)
        taken.append(1000 * (time.perf_counter() - began))
    return min(taken)


def whole_matrix(q: Tensor, k: Tensor, v: Tensor, window: int) -> Tensor:
    """Return the same by a mask on the whole matrix."""
    i = torch.arange(q.shape[-2])
    sees = (i[:, None] >= i) & (i[:, None] - i < window)
    scores = q @ k.mT / q.shape[-1] ** 0.5
    return scores.masked_fill(~sees, float("-inf")).softmax(-1) @ v


if __name__ == "__main__":
    torch.set_num_threads(1)
    print("device:", device_name(torch.device("cpu")))
    for length, window in ((300, 40), (1024, 128)):
        print(f"{length} positions, window {window}: {window_mask(length, window, 'cpu').sparsity():.2f} % empty")
    for length in (1024, 2048):
        inputs = (*torch.randn(3, 1, 4, length, 32), 128)
        for function in (whole_matrix, banded_attention):
            megabytes = live_peak(function, *inputs) / 1e6
            print(f"{length} {function.__name__}: {milliseconds(function, *inputs):.1f} ms, {megabytes:.1f} MB")
