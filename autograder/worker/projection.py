"""`digest.projection` where the weights are: with whole numbers of torch, which are signed and wrap around."""

from __future__ import annotations

import torch
from torch import Tensor

from autograder.protocol.digest import FIRST, SECOND, STEP


def projection(weights: Tensor, challenge: int) -> int:
    """Return the sum of mix64(challenge, i) * bits(w_i) mod 2^64 over float32 weights."""
    bits = weights.view(torch.int32).to(torch.int64) & 0xFFFFFFFF
    x = torch.arange(1, len(bits) + 1, device=bits.device) * _signed(STEP) + _signed(challenge)
    x = (x ^ _shifted(x, 30)) * _signed(FIRST)
    x = (x ^ _shifted(x, 27)) * _signed(SECOND)
    return int((bits * (x ^ _shifted(x, 31))).sum()) % (1 << 64)


def _shifted(x: Tensor, by: int) -> Tensor:
    return (x >> by) & ((1 << (64 - by)) - 1)  # >> alone would copy the sign


def _signed(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number
