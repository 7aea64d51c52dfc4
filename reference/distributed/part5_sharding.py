# %% [markdown]
# # Part 5: a model in shares
#
# Data parallelism gives each process a whole model, its gradients and the optimizer's state: 16 bytes for each
# parameter in float32 with Adam. FSDP2 (`fully_shard`) gives each process a share of all three. Before a block
# computes, its weights are gathered from all processes; afterwards each process drops the shares of the others.

# %%
from __future__ import annotations

import math
import os
import socket

import pandas as pd
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

from given import Blocks

# %% [markdown]
# ## 5.1 The model
#
# A model that is too large for one process must not be built in one. On the device `meta` a parameter has a shape and
# a dtype, and no memory.


# %%
def shard(make_model, mesh, state=None, policy=None, reshard=True) -> nn.Module:
    """Make a model and share it among the processes of the mesh; return it. No process makes the whole model.

    *make_model()* returns a model with *blocks*. Each block is sharded by itself, then what is left of the model.
    *state* is a state_dict with whole weights in rank 0, and {} in every other process: all processes then have these
    weights. If *state* is None in all processes, the weights may have any values: a checkpoint is loaded later.
    *policy* is a MixedPrecisionPolicy for fully_shard, or None: then leave mp_policy out. With reshard=False a block
    stays whole until its backward pass.
    """
    # TODO: make_model() under torch.device("meta"); fully_shard each block, then the model itself.
    # TODO: to_empty gives the shares memory on the mesh's device; set_model_state_dict can broadcast from rank 0.
    ### BEGIN SOLUTION
    from torch.distributed.checkpoint.state_dict import StateDictOptions, set_model_state_dict
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    options = {"mesh": mesh, "mp_policy": policy or MixedPrecisionPolicy()}
    with torch.device("meta"):
        model = make_model()
    for block in model.blocks:
        fully_shard(block, reshard_after_forward=reshard, **options)
    fully_shard(model, **options)
    model.to_empty(device=mesh.device_type)
    if state is not None:
        whole = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
        set_model_state_dict(model, state, options=whole)
    return model
    ### END SOLUTION


# %% [markdown]
# ## 5.2 A training


# %%
def train_sharded(model, batches, criterion, make_optimizer, clip=None) -> dict:
    """Train a sharded model, one step for each batch (inputs, targets) of this process.

    The loss is criterion(model(inputs), targets). With *clip*, gradients are clipped to this norm, of all shards
    together. All batches have the same size. Returns, alike in all processes, a float for each step:
    losses: the mean loss of all processes; norms: the norm of all gradients before clipping, also without *clip*.
    """
    # TODO: make_optimizer(parameters) takes the sharded parameters.
    # TODO: a norm of shards is a DTensor: full_tensor() makes it whole.
    ### BEGIN SOLUTION
    optimizer = make_optimizer(model.parameters())
    losses, norms = [], []
    for inputs, targets in batches:
        optimizer.zero_grad()
        loss = criterion(model(inputs), targets)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), math.inf if clip is None else clip)
        optimizer.step()
        mean = loss.detach().float()
        dist.all_reduce(mean)
        losses.append(mean.item() / dist.get_world_size())
        norms.append(norm.full_tensor().item())
    return {"losses": losses, "norms": norms}
    ### END SOLUTION


# %% [markdown]
# ## 5.3 A checkpoint
#
# Each process writes the shares that it has. Fewer processes or more may load them: the checkpoint says which part of
# which tensor is where.


# %%
def save(model, optimizer, folder) -> None:
    """Write the weights and the optimizer's state into *folder*; each process writes its share."""
    # TODO: get_state_dict and torch.distributed.checkpoint.save. All processes have to take part.
    ### BEGIN SOLUTION
    import torch.distributed.checkpoint as dcp
    from torch.distributed.checkpoint.state_dict import get_state_dict

    weights, state = get_state_dict(model, optimizer)
    dcp.save({"model": weights, "optimizer": state}, checkpoint_id=folder)
    ### END SOLUTION


def load(model, optimizer, folder) -> None:
    """Load what save wrote, into a model and its optimizer, in any number of processes.

    The model may also be a plain one, not sharded, in a single process. The optimizer has taken no step yet.
    """
    # TODO: torch.distributed.checkpoint.load fills the tensors that it is given; then set_state_dict.
    ### BEGIN SOLUTION
    import torch.distributed.checkpoint as dcp
    from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict

    weights, state = get_state_dict(model, optimizer)
    saved = {"model": weights, "optimizer": state}
    dcp.load(saved, checkpoint_id=folder)
    set_state_dict(model, optimizer, model_state_dict=saved["model"], optim_state_dict=saved["optimizer"])
    ### END SOLUTION


# %% [markdown]
# ## 5.4 What it costs
#
# Three ways to split, each of which splits more: ZeRO-1 the optimizer's state, ZeRO-2 the gradients as well, ZeRO-3 or
# FSDP the weights, too. Only FSDP sends more bytes than DDP in return for the memory.


# %%
def bytes_per_rank(parameters, processes, strategy) -> dict:
    """Return the bytes that each process holds, in float32 with Adam: weights, gradients, optimizer and total.

    *strategy* is "ddp" (everything whole), "zero1" (the optimizer's state is split), "zero2" (gradients, too) or
    "fsdp" (weights, too). *parameters* is how many there are. Do not round.
    """
    # TODO: 4 bytes for a weight, 4 for its gradient, 8 for Adam's two moments. Divide what is split by *processes*.
    ### BEGIN SOLUTION
    shared = {"ddp": (), "zero1": ("optimizer",), "zero2": ("optimizer", "gradients")}
    sizes = {"weights": 4, "gradients": 4, "optimizer": 8}
    here = {
        name: size * parameters / (processes if name in shared.get(strategy, sizes) else 1)
        for name, size in sizes.items()
    }
    return {**here, "total": sum(here.values())}
    ### END SOLUTION


def traffic(block_bytes, root_bytes, processes, strategy) -> float:
    """Return the bytes that each process sends in a step, on a ring.

    *block_bytes* are those of all blocks together, *root_bytes* those of what is left of the model.
    *strategy* is "ddp" (gradients are reduced by all_reduce), "fsdp" (blocks are gathered for the forward and again for
    the backward pass, the rest once; gradients are reduced by reduce_scatter), or "fsdp_keep" (the same with
    reshard=False: blocks are gathered once).
    """
    # TODO: an all_gather or a reduce_scatter sends (n - 1) / n of the bytes, an all_reduce twice as much.
    ### BEGIN SOLUTION
    gathered = {"ddp": 1, "fsdp": 2, "fsdp_keep": 1}[strategy] * block_bytes + root_bytes
    scattered = block_bytes + root_bytes
    return (processes - 1) / processes * (gathered + scattered)
    ### END SOLUTION


# %% [markdown]
# ## 5.5 The experiment


# %%
def work(rank, processes, port) -> None:
    """Train for three steps as one of several processes, and say what this one holds."""
    torch.set_num_threads(1)
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(processes), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    device = "cuda" if torch.cuda.device_count() >= processes else "cpu"
    if device == "cuda":
        torch.cuda.set_device(rank)
    mesh = dist.init_device_mesh(device, (processes,))
    torch.manual_seed(0)
    state = Blocks().state_dict() if rank == 0 else {}
    model = shard(Blocks, mesh, state)
    numbers = torch.Generator().manual_seed(rank)
    batches = [
        (torch.randn(8, 16, generator=numbers).to(device), torch.randint(10, (8,), generator=numbers).to(device))
        for _ in range(3)
    ]
    figures = train_sharded(model, batches, nn.CrossEntropyLoss(), torch.optim.AdamW, clip=1.0)
    held = sum(parameter.to_local().nbytes for parameter in model.parameters())
    whole = sum(parameter.nbytes for parameter in model.parameters())
    print(f"rank {rank} holds {held} of {whole} bytes; {figures}")
    dist.barrier()  # a process that ends early breaks the connections of the others
    dist.destroy_process_group()


if __name__ == "__main__":
    strategies = ("ddp", "zero1", "zero2", "fsdp")
    rows = [{"strategy": name, **bytes_per_rank(7e9, 8, name)} for name in strategies]
    print((pd.DataFrame(rows).set_index("strategy") / 1e9).to_string(), "GB in each of 8 processes\n")
    for name in ("ddp", "fsdp", "fsdp_keep"):
        print(f"{name}: each of two processes sends {traffic(4 * 132_352, 6_952, 2, name):,.0f} bytes in a step")
    with socket.socket() as free:  # a port that nobody uses
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    mp.spawn(work, (2, port), nprocs=2)
