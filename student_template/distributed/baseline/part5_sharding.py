"""Part 5 before the work: every process holds the whole model, and rank 0 writes all of it.

Yours trains alike. Each process holds its share.
"""

from __future__ import annotations

from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def shard(make_model, mesh, state=None, policy=None, reshard=True) -> nn.Module:
    """Build the whole model in every process; DistributedDataParallel sends rank 0's weights to all."""
    model = make_model()
    if state:
        model.load_state_dict(state)
    return DistributedDataParallel(model)


def train_sharded(model, batches, criterion, make_optimizer, clip=None) -> dict:
    """Take the same step in all processes, with gradients that DistributedDataParallel has averaged."""
    optimizer = make_optimizer(model.parameters())
    losses, norms = [], []
    for inputs, targets in batches:
        optimizer.zero_grad()
        loss = criterion(model(inputs), targets)
        loss.backward()
        norms.append(nn.utils.clip_grad_norm_(model.parameters(), clip or float("inf")).item())
        optimizer.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        losses.append(mean.item() / dist.get_world_size())
    return {"losses": losses, "norms": norms}


def save(model, optimizer, folder) -> None:
    """Let rank 0 write what it has."""
    if dist.get_rank() == 0:
        Path(folder).mkdir(parents=True, exist_ok=True)
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, f"{folder}/checkpoint.pt")
    dist.barrier()


def load(model, optimizer, folder) -> None:
    """Let every process read all of it."""
    saved = torch.load(f"{folder}/checkpoint.pt", weights_only=False)
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])


def bytes_per_rank(parameters, processes, strategy) -> dict:
    """Return what DistributedDataParallel takes, whatever the strategy."""
    sizes = {"weights": 4.0 * parameters, "gradients": 4.0 * parameters, "optimizer": 8.0 * parameters}
    return {**sizes, "total": 16.0 * parameters}


def traffic(block_bytes, root_bytes, processes, strategy) -> float:
    """Return what DistributedDataParallel sends, whatever the strategy."""
    return 2 * (processes - 1) / processes * (block_bytes + root_bytes)
