# %% [markdown]
# # Part 13: one model, two processes
#
# Data parallelism gives each process a whole model, its gradients and the optimizer's state. FSDP2 (`fully_shard`)
# gives each process a share of all three. Before a block computes, its weights are gathered from all processes;
# afterwards the process drops what is not its own. Gradients are averaged, and each process gets those of its share.

# %%
from __future__ import annotations

import os

import torch
import torch.distributed as dist

from given import TinyLM

# %% [markdown]
# ## 13.1 The model


# %%
def shard(model, mesh, dtype=None, offload=False):
    """Shard a TinyLM over the processes of the mesh: each block by itself, then what is left; return the model.

    Parameters stay float32. With a dtype, every fully_shard gets the same MixedPrecisionPolicy: the model computes in
    dtype, and gradients are reduced in float32. With offload, parameters, gradients and the optimizer's state are in
    the memory of the CPU.
    """
    # TODO: fully_shard each block, then the model itself. Pinned memory needs a GPU.
    ### BEGIN SOLUTION
    from torch.distributed.fsdp import CPUOffloadPolicy, MixedPrecisionPolicy, fully_shard

    options = {"mesh": mesh, "mp_policy": MixedPrecisionPolicy(param_dtype=dtype, reduce_dtype=torch.float32)}
    if offload:
        options["offload_policy"] = CPUOffloadPolicy(pin_memory=torch.cuda.is_available())
    for block in model.blocks:
        fully_shard(block, **options)
    return fully_shard(model, **options)
    ### END SOLUTION


# %% [markdown]
# ## 13.2 A training


# %%
def train_sharded(model, make_optimizer, batches, clip):
    """Train a sharded model, a step for each batch of token ids; return (losses, norms), a float for each step.

    The loss is model(ids, labels=ids).loss. The norm of the gradients of all shards together is clipped to *clip*.
    losses: the mean loss of all processes; norms: this norm before clipping. Both are the same in each process.
    """
    # TODO: the model is sharded already, so call make_optimizer(model.parameters()) here.
    # TODO: clip_grad_norm_ returns a DTensor: full_tensor() makes a plain tensor of it.
    ### BEGIN SOLUTION
    optimizer = make_optimizer(model.parameters())
    losses, norms = [], []
    for ids in batches:
        optimizer.zero_grad()
        loss = model(ids, labels=ids).loss
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        mean = loss.detach().float()
        dist.all_reduce(mean)
        losses.append(mean.item() / dist.get_world_size())
        norms.append(norm.full_tensor().item())
    return losses, norms
    ### END SOLUTION


# %% [markdown]
# ## 13.3 The weights


# %%
def whole_weights(model):
    """Return {name: plain tensor on the CPU} with the whole weights in rank 0, and {} in every other process."""
    # TODO: state_dict() has shards. All processes have to take part in gathering them.
    ### BEGIN SOLUTION
    from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict

    return get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
    ### END SOLUTION


# %%
if __name__ == "__main__":  # torchrun --nproc-per-node 2 part13_sharding.py
    world = int(os.environ["WORLD_SIZE"])
    device = "cuda" if torch.cuda.device_count() >= world else "cpu"
    if device == "cuda":
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    mesh = dist.init_device_mesh(device, (world,))
    torch.manual_seed(0)
    model = shard(TinyLM(blocks=4).to(device), mesh)
    held = sum(parameter.to_local().nbytes for parameter in model.parameters())
    whole = sum(parameter.nbytes for parameter in model.parameters())
    batches = torch.randint(0, 97, (3, 4, 12), generator=torch.Generator().manual_seed(dist.get_rank()))
    losses, norms = train_sharded(model, torch.optim.AdamW, batches.to(device), clip=1.0)
    names = len(whole_weights(model))
    figures = f"losses {losses}, norms {norms}, {names} whole weights"
    # One write for a line: the lines of two processes do not run together.
    print(f"rank {dist.get_rank()}: {held} of {whole} bytes, {figures}\n", end="", flush=True)
    dist.barrier()  # if one process ended first, the others would lose their connection
    dist.destroy_process_group()
