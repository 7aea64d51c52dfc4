"""What compiling costs from a cold start."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from .language import TinyLM

LENGTHS = (16, 24, 40, 64)


def cold_start(compile_regions: Callable[[TinyLM], TinyLM], ids: Tensor, lengths: Sequence[int] = LENGTHS) -> Tensor:
    """Compile a new TinyLM, with nothing remembered, and go through the token ids at each length, with gradients.

    ids: (batch, the longest length). Return the losses, and the norm of a gradient. What takes time here are builds.
    """
    from torch._inductor import config

    torch.compiler.reset()
    torch.manual_seed(0)
    model = TinyLM(blocks=4).to(ids.device)
    losses = []
    with config.patch(force_disable_caches=True):
        compiled = compile_regions(model)
        for length in lengths:
            loss = compiled(ids[:, :length], labels=ids[:, :length]).loss
            loss.backward()
            losses.append(loss.detach())
    return torch.stack([*losses, model.embed.weight.grad.norm()])
