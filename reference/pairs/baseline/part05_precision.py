"""Part 5 before the work: a training in float32, the bytes of the output alone, a product in full precision.

Yours is compared with it: nearly the same training and product, in fewer bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
from torch import Tensor, nn
from torch.nn import functional


def train_mixed(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    criterion: Callable[[Tensor, Tensor], Tensor],
    batches: Iterable[tuple[Tensor, Tensor]],
    scaler: torch.amp.GradScaler,
    dtype: torch.dtype,
) -> tuple[Tensor, int]:
    """Train in float32, and count the batches; scaler and dtype are not used."""
    device, losses = next(model.parameters()).device, []
    for inputs, targets in batches:
        optimizer.zero_grad()
        loss = criterion(model(inputs.to(device)), targets.to(device))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses), len(losses)


def kept_bytes(model: nn.Module, inputs: Tensor, dtype: torch.dtype | None = None) -> int:
    """Return the bytes of the output."""
    return model(inputs).nbytes


def fp8_linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return x @ weight.T + bias in the dtype of x."""
    return functional.linear(x, weight, bias)
