"""Attention as the formula says it, and inputs of any length."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def attention_by_hand(q: Tensor, k: Tensor, v: Tensor, causal: bool = False) -> Tensor:
    """Return softmax(q k^T / sqrt(head_dim)) v, with every score in memory at once."""
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])  # (batch, heads, length, keys)
    if causal:
        future = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(1)
        scores = scores.masked_fill(future, -math.inf)
    return torch.softmax(scores, dim=-1) @ v  # (batch, heads, length, head_dim)


def make_inputs(length: int, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """Return q, k, v of shape (1, 4, length, 32): the same numbers at each call."""
    generator = torch.Generator().manual_seed(length)
    q, k, v = torch.randn(3, 1, 4, length, 32, generator=generator).to(device)
    return q, k, v
