"""A small language model of the shape of today's: RMSNorm, rotary positions, causal attention, SwiGLU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional


@dataclass
class Output:
    """What TinyLM returns: logits (batch, n, vocabulary), and the loss where labels were given."""

    logits: Tensor
    loss: Tensor | None


def rotated(values: Tensor, first: int) -> Tensor:
    """Turn each pair of features by an angle that follows from its position; the first one is *first*."""
    length, size = values.shape[-2:]
    place = torch.arange(first, first + length, device=values.device, dtype=torch.float32)
    powers = torch.arange(0, size, 2, device=values.device, dtype=torch.float32) / size
    angles = place[:, None] * 10_000.0**-powers
    cosine, sine = angles.cos().to(values.dtype), angles.sin().to(values.dtype)
    left, right = values.chunk(2, dim=-1)
    return torch.cat([left * cosine - right * sine, right * cosine + left * sine], dim=-1)


class Attention(nn.Module):
    """Causal attention over all positions so far; a cache holds the keys and values of earlier calls."""

    def __init__(self, width: int, heads: int) -> None:
        """Make one projection for queries, keys and values, and one for the result."""
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)

    def forward(self, x: Tensor, cache: Any = None) -> Tensor:
        """Attend; cache.append(keys, values) returns those of all positions so far."""
        batch, length, width = x.shape
        first = 0 if cache is None else cache.length
        split = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads)
        queries, keys, values = split.permute(2, 0, 3, 1, 4)
        queries, keys = rotated(queries, first), rotated(keys, first)
        if cache is not None:
            keys, values = cache.append(keys, values)
        mask = None
        if first:
            mask = torch.ones(length, first + length, dtype=torch.bool, device=x.device).tril(first)
        mixed = functional.scaled_dot_product_attention(queries, keys, values, mask, is_causal=not first)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))


class MLP(nn.Module):
    """SwiGLU: silu(gate(x)) * up(x), and back to the width."""

    def __init__(self, width: int, hidden: int) -> None:
        """Make the three projections."""
        super().__init__()
        self.gate = nn.Linear(width, hidden, bias=False)
        self.up = nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Apply it to each position."""
        return self.down(functional.silu(self.gate(x)) * self.up(x))


class Block(nn.Module):
    """Attention and MLP, each after a norm and beside a residual; dropout before each residual is added."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        """Make both halves."""
        super().__init__()
        self.norm1 = nn.RMSNorm(width, eps=1e-6)
        self.attention = Attention(width, heads)
        self.norm2 = nn.RMSNorm(width, eps=1e-6)
        self.mlp = MLP(width, 2 * width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, cache: Any = None) -> Tensor:
        """Return (batch, n, width)."""
        x = x + self.dropout(self.attention(self.norm1(x), cache))
        return x + self.dropout(self.mlp(self.norm2(x)))


class TinyLM(nn.Module):
    """Predicts the next token: an embedding, blocks, a norm and a head with weights of its own."""

    def __init__(
        self, vocabulary: int = 97, width: int = 32, blocks: int = 2, heads: int = 4, dropout: float = 0.0
    ) -> None:
        """Make the model; width / heads is even."""
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.blocks = nn.ModuleList(Block(width, heads, dropout) for _ in range(blocks))
        self.norm = nn.RMSNorm(width, eps=1e-6)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, input_ids: Tensor, labels: Tensor | None = None, caches: Any = None) -> Output:
        """Return logits for each position, and the mean cross-entropy of the next token where labels are given."""
        x = self.embed(input_ids)
        for number, block in enumerate(self.blocks):
            x = block(x, None if caches is None else caches[number])
        logits = self.head(self.norm(x))
        if labels is None:
            return Output(logits, None)
        return Output(logits, functional.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten()))
