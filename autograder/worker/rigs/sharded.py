"""Processes that share one model: a group with a mesh, what each of them holds, and how they train."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.optim.optimizer import register_optimizer_step_post_hook

from autograder.worker.rigs import call_order, group_processes
from autograder.worker.rigs.collectives import MOST, Collectives
from autograder.worker.rigs.returned import dtype_name, flat, series

WORLD = 2  # processes of a training
Work = Callable[[int, DeviceMesh], dict[str, Any]]


def together(world: int, work: Work, folder: Path, seconds: float) -> list[dict[str, Any]]:
    """Let each process of a group do its *work* on a mesh of all; return what each answers."""
    # Once, and not in each process.
    import torch.distributed.checkpoint.state_dict
    import torch.distributed.fsdp  # noqa: F401

    def begin(rank: int) -> dict[str, Any]:
        # A name sets it apart from the mesh that fully_shard makes itself.
        return work(rank, init_device_mesh("cpu", (world,), mesh_dim_names=("shares",)))

    return group_processes.together(
        world, lambda rank: {"LOCAL_RANK": rank}, begin, folder, seconds
    )


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


# --- trainings ---


def alone(
    model: nn.Module,
    make_optimizer: Callable[[Any], torch.optim.Optimizer],
    batches: Iterable[Any],
    loss_of: Callable[[nn.Module, Any], Tensor],
    clip: float,
) -> dict[str, Any]:
    """Train in one process on the joined batches of all, and answer as a group has to."""
    start = flat(dict(model.named_parameters()))
    optimizer = make_optimizer(model.parameters())
    losses, norms = [], []
    for batch in batches:
        optimizer.zero_grad()
        loss = loss_of(model, batch)
        loss.backward()
        norms.append(nn.utils.clip_grad_norm_(model.parameters(), clip))
        losses.append(loss.detach())
        optimizer.step()
    own = {"steps": [], "held": held(model, optimizer), "dtypes": ["float32"], "on_mesh": True}
    figures = {
        "weights": flat(dict(model.named_parameters())),
        "losses": series(losses, "losses"),
        "norms": series(norms, "norms"),
    }
    return gathered(start, [{**own, **figures} for _ in range(WORLD)])


def watched(
    model: nn.Module, mesh: DeviceMesh, train: Callable[[], Mapping[str, Any]]
) -> dict[str, Any]:
    """Let a process train a sharded model, and answer with what it held, called and has then."""
    own: dict[str, Any] = {"held": dict.fromkeys(("parameters", "gradients", "state"), 0)}

    def note(optimizer: torch.optim.Optimizer, *_: Any) -> None:
        own["held"] = held(model, optimizer)

    hook = register_optimizer_step_post_hook(note)
    with Collectives() as collectives:
        returned = train()
    call_order.returns(f"the training after {len(collectives.steps) - 1} optimizer steps")
    hook.remove()
    # Whoever holds whole parameters is told of that, and not of a mesh.
    meshes = [getattr(it, "device_mesh", mesh) for it in model.parameters()]
    return {
        **own,
        "on_mesh": all(it == mesh for it in meshes),
        "dtypes": sorted({dtype_name(it) for it in model.parameters()}),
        "steps": [[_noted(call) for call in step[:MOST]] for step in collectives.steps[:MOST]],
        "weights": numbers(model.parameters()),
        "losses": series(returned["losses"], "losses").tolist(),
        "norms": series(returned["norms"], "norms").tolist(),
    }


def gathered(start: Any, answers: list[dict[str, Any]]) -> dict[str, Any]:
    """Answer for a group: the figures of each process are arrays, called by its rank."""
    arrays = {
        f"{name}{rank}": np.array(own.pop(name))
        for rank, own in enumerate(answers)
        for name in ("weights", "losses", "norms")
    }
    return {"start": start, "ranks": answers, **arrays}


def numbers(tensors: Iterable[Any]) -> list[float]:
    """Return the numbers of whole tensors; all processes have to take part."""
    whole = [full(it.detach()) for it in tensors]
    return flat(whole).tolist() if whole else []


def _noted(call: dict[str, Any]) -> dict[str, Any]:
    return {name: call[name] for name in ("kind", "bytes", "dtype")}
