"""Processes that share one model: a group with a mesh, and what each of them holds."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh

from autograder.worker.rigs import forked
from autograder.worker.rigs.returned import BadReturn

LEFT_ALONE = 10.0  # seconds that a process waits for one which is still in a collective call
WAITED = "rank {} never came to a collective call that rank {} waited in: all processes make the same calls"
WAITED_FOR = "another process never came to a collective call that rank {} waited in: all processes make the same calls"
Work = Callable[[int, DeviceMesh], dict[str, Any]]


def together(world: int, work: Work, folder: Path, seconds: float) -> list[dict[str, Any]]:
    """Let each process of a group do its *work* on a mesh of all; return what each answers."""
    import torch.distributed.checkpoint.state_dict  # once, and not in each process
    import torch.distributed.fsdp

    def begin(rank: int) -> dict[str, Any]:
        # Processes of one group cannot share a GPU.
        torch.cuda.is_available = lambda: False
        try:
            answer = work(rank, init_device_mesh("cpu", (world,)))
        except RuntimeError as error:
            if "onnection" in str(error):
                waited = WAITED.format(1 - rank, rank) if world == 2 else WAITED_FOR.format(rank)
                raise BadReturn(waited) from error
            raise
        _end_together(rank, world)
        return answer

    return forked.together(world, lambda rank: {"LOCAL_RANK": rank}, begin, folder, seconds)


def _end_together(rank: int, world: int) -> None:
    """Wait for the other processes: the first to end takes the others' connections along."""
    with contextlib.suppress(Exception):
        store: Any = dist.distributed_c10d._get_default_store()
        store.set(f"ended{rank}", "")
        store.wait([f"ended{each}" for each in range(world)], timedelta(seconds=LEFT_ALONE))


def held(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, int]:
    """Return the bytes of a process's storages, by what is in them."""
    parameters = list(model.parameters())
    state = [it for own in optimizer.state.values() for it in own.values()]
    gradients = [it.grad for it in parameters]
    return {
        "parameters": _bytes(parameters),
        "gradients": _bytes(gradients),
        "state": _bytes(state),
    }


def _bytes(values: Sequence[Any]) -> int:
    storages = [local(it).untyped_storage() for it in values if isinstance(it, Tensor)]
    return sum({it.data_ptr(): it.nbytes() for it in storages}.values())


def local(tensor: Any) -> Tensor:
    """Return this process's shard of a tensor, or a tensor that is none."""
    shard: Tensor = tensor.to_local() if hasattr(tensor, "to_local") else tensor
    return shard


def full(tensor: Any) -> Tensor:
    """Return a whole tensor; all processes have to take part."""
    whole: Tensor = tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor
    return whole


def by_rank(figures: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Name the figures of each process by its rank: losses0, losses1."""
    return {f"{name}{rank}": it for rank, own in enumerate(figures) for name, it in own.items()}
