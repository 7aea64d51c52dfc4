"""Part 7 before the work: softmax over the whole matrix of scores, most of which a mask throws away.

Yours is compared with it: the same results, from the blocks and the band of keys that count.
"""

from __future__ import annotations

import torch
from torch.nn.attention.flex_attention import create_block_mask, create_mask


def window_mask(length, window, device):
    """Say which positions count, in one block of the whole matrix: there is nothing to skip."""

    def sees(batch, head, i, j):
        return (i >= j) & (i - j < window)

    return create_block_mask(sees, None, None, length, length, device=device, BLOCK_SIZE=length)


def windowed_attention(q, k, v, mask, slopes=None):
    """Compute every score, then throw away those that the mask hides."""
    length = q.shape[-2]
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if slopes is not None:
        places = torch.arange(length, device=q.device)
        scores = scores - slopes[:, None, None] * (places[:, None] - places)
    sees = create_mask(mask.mask_mod, 1, 1, length, length, device=q.device)
    return scores.masked_fill(~sees, float("-inf")).softmax(-1) @ v


def banded_attention(q, k, v, window):
    """Compute every score, then throw away those outside of the window."""
    i = torch.arange(q.shape[-2], device=q.device)
    sees = (i[:, None] >= i) & (i[:, None] - i < window)
    scores = q @ k.mT / q.shape[-1] ** 0.5
    return scores.masked_fill(~sees, float("-inf")).softmax(-1) @ v
