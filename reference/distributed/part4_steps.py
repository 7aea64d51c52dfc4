# %% [markdown]
# # Part 4: steps
#
# A step of several processes costs one exchange of gradients. A training gets faster if several batches share one
# exchange, if matrix products are computed in half precision, and if no process waits for its data. A step must still
# take the mean gradient over all samples of all processes.

# %%
from __future__ import annotations

import os
import socket
import time
from contextlib import nullcontext
from itertools import islice

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler, Subset, TensorDataset

# %% [markdown]
# ## 4.1 An epoch


# %%
def train_epoch(
    model, loader, criterion, optimizer, device, accumulation=1, amp=None, scaler=None, clip=None
) -> dict[str, float]:
    """Train a DistributedDataParallel for an epoch; batch number i has the same size on all ranks.

    *accumulation* batches make a step, which takes the mean gradient over all their samples on all ranks. The last step
    may have fewer batches, and the last batch fewer samples. Only the last batch of a step exchanges gradients.
    *amp*: the dtype of autocast, or None. *scaler*: a GradScaler, or None. *clip*: the largest norm of the gradient.

    Returns, alike on all ranks: loss (the mean over all samples of all ranks), steps (taken), skipped (by the scaler).
    """
    # TODO: put the batches of a step into a list: then you know which is the last, and how many samples they have.
    # TODO: clipping needs the norm of the true gradient, without the scaler's factor.
    # TODO: if the scaler skips a step, scaler.get_scale() is smaller after scaler.update() than before.
    ### BEGIN SOLUTION
    model.train()
    batches = iter(loader)
    total = torch.zeros(2, dtype=torch.float64, device=device)  # sum of the losses, samples
    steps = skipped = 0
    while group := list(islice(batches, accumulation)):
        samples = sum(len(labels) for _, labels in group)
        optimizer.zero_grad()
        for number, (inputs, labels) in enumerate(group, 1):
            inputs, labels = inputs.to(device, non_blocking=True), labels.to(device, non_blocking=True)
            # The forward pass decides whether the backward pass communicates.
            with nullcontext() if number == len(group) else model.no_sync():
                with torch.autocast(device.type, dtype=amp, enabled=amp is not None):
                    loss = criterion(model(inputs), labels)
                share = loss * len(labels) / samples
                (share if scaler is None else scaler.scale(share)).backward()
            total[0] += loss.detach() * len(labels)
            total[1] += len(labels)
        if scaler is not None:
            scaler.unscale_(optimizer)
        if clip is not None:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        if scaler is None:
            optimizer.step()
            steps += 1
            continue
        scale = scaler.get_scale()
        scaler.step(optimizer)
        scaler.update()
        overflowed = scaler.get_scale() < scale
        skipped += overflowed
        steps += not overflowed
    dist.all_reduce(total)
    return {"loss": (total[0] / total[1]).item(), "steps": steps, "skipped": skipped}
    ### END SOLUTION


# %% [markdown]
# ## 4.2 The data


# %%
def make_loader(
    dataset: Dataset, batch_size: int, rank: int, world: int, workers: int = 2, seed: int = 0
) -> tuple[DataLoader, DistributedSampler]:
    """Return (loader, sampler): the share of this rank, shuffled anew when the caller calls sampler.set_epoch(epoch).

    All ranks get equally many samples; if the set does not divide by *world*, some come twice.
    *batch_size*: the samples of a batch on this rank. The last batch may be short.
    Memory is pinned if torch.cuda.is_available(). Workers, if there are any, stay for the next epoch.
    """
    # TODO: the sampler shuffles, so leave shuffle out. Some options need workers.
    ### BEGIN SOLUTION
    sampler = DistributedSampler(dataset, world, rank, shuffle=True, seed=seed)
    helpers = {"persistent_workers": True, "prefetch_factor": 4} if workers else {}
    pinned = torch.cuda.is_available()
    loader = DataLoader(dataset, batch_size, sampler=sampler, num_workers=workers, pin_memory=pinned, **helpers)
    return loader, sampler
    ### END SOLUTION


# %% [markdown]
# ## 4.3 The accuracy


# %%
@torch.no_grad()
def evaluate(model, dataset: Dataset, batch_size: int, device: torch.device) -> float:
    """Return the share of all samples that a DistributedDataParallel gets right, 0 to 1, the same on every rank.

    Each sample counts once, however few there are. The model is in eval mode meanwhile, and afterwards as before.
    """
    # TODO: a sampler that repeats samples counts them twice.
    # TODO: some ranks may have no batch at all, but all ranks have to make the same collective calls.
    ### BEGIN SOLUTION
    own = range(dist.get_rank(), len(dataset), dist.get_world_size())
    training = model.training
    model.eval()
    counts = torch.zeros(2, dtype=torch.int64, device=device)  # right, samples
    for inputs, labels in DataLoader(Subset(dataset, own), batch_size):
        answers = model.module(inputs.to(device)).argmax(1)
        counts[0] += (answers == labels.to(device)).sum()
        counts[1] += len(labels)
    model.train(training)
    dist.all_reduce(counts)
    return (counts[0] / counts[1]).item()
    ### END SOLUTION


# %% [markdown]
# ## An experiment


# %%
def experiment(rank: int, world: int, port: int) -> None:
    """Train in this process of the group; rank 0 prints what accumulation and half precision cost."""
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    on_gpu = torch.cuda.device_count() >= world
    device = torch.device("cuda", rank) if on_gpu else torch.device("cpu")
    if on_gpu:
        torch.cuda.set_device(device)
    torch.set_num_threads(1)
    dist.init_process_group("nccl" if on_gpu else "gloo", rank=rank, world_size=world)
    torch.manual_seed(0)
    inputs = torch.randn(4096, 256)
    data = TensorDataset(inputs, inputs[:, :10].argmax(1))
    for accumulation, amp in ((1, None), (4, None), (4, torch.bfloat16)):
        torch.manual_seed(0)
        layers = nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 10)
        model = DistributedDataParallel(nn.Sequential(*layers).to(device))
        optimizer = torch.optim.AdamW(model.parameters())
        loader, sampler = make_loader(data, 64 // accumulation, rank, world)
        for epoch in range(3):
            sampler.set_epoch(epoch)
            start = time.perf_counter()
            options = {"accumulation": accumulation, "amp": amp}
            trained = train_epoch(model, loader, nn.CrossEntropyLoss(), optimizer, device, **options)
            seconds = time.perf_counter() - start
        accuracy = evaluate(model, data, 256, device)
        if rank == 0:
            print(f"accumulation {accumulation}, amp {amp}: {trained}, {accuracy=:.4f}, {seconds:.3f} s")
    dist.barrier()  # a process that ends early breaks the connections of the others
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    world = max(2, torch.cuda.device_count())
    torch.multiprocessing.spawn(experiment, (world, port), nprocs=world)
