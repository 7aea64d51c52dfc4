# %% [markdown]
# # Part 2: what communication costs
#
# In each step all processes average their gradients. DistributedDataParallel (DDP) packs gradients into
# buckets, and sends a bucket while backward still computes the next one. So there are two times: what the transfers
# take (**total**), and by how much they make a step longer (**exposed**). The rest is hidden.

# %%
from __future__ import annotations

import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import given

# %% [markdown]
# ## 2.1 Exposed and hidden


# %%
def measure_communication(model, batch, criterion, steps=21, warmup=3) -> dict[str, float]:
    """Measure a step; all processes of the group call this. `model` is a DDP, `batch` is (inputs, labels).

    A step is criterion(model(inputs), labels).backward(). Take `warmup` steps first. Then time `steps` times, in turns:
    a step; a step without synchronisation; and the transfers alone: all buckets of one step, one after the other, each
    by its own blocking dist.all_reduce. The recorder's calls of kind "all_reduce" give the sizes of the buckets. Do
    not include the time of a barrier.

    Returns, the same in every process:
        step_ms, compute_ms, total_ms       the largest of all ranks' medians
        exposed_ms, exposed_percent         step_ms - compute_ms; this in percent of step_ms
        hidden_percent                      100 * (1 - exposed_ms / total_ms)
        collectives, bytes                  of a step after the warm-up
    The optimizer takes no step, and all gradients are None at the end.
    """
    # TODO: given.watch_collectives() says what a step sends. model.no_sync() skips it, if forward is inside as well.
    # TODO: dist.all_reduce(..., op=dist.ReduceOp.MAX) gives the largest of all ranks' medians.
    ### BEGIN SOLUTION
    inputs, labels = batch

    def step():
        criterion(model(inputs), labels).backward()
        model.zero_grad()

    def step_alone():
        with model.no_sync():  # forward decides whether backward synchronises, so it is inside
            step()

    def reduce():
        for bucket in buckets:
            dist.all_reduce(bucket)

    def seconds(work):
        dist.barrier()
        start = _now(inputs.device)
        work()
        return _now(inputs.device) - start

    for _ in range(warmup):  # DDP makes its final buckets after the first step
        step()
    with given.watch_collectives() as calls:
        step()
    buckets = [torch.zeros(call["bytes"] // 4, device=inputs.device) for call in calls]
    times = {work: [] for work in (step, step_alone, reduce)}
    for _ in range(steps):
        for work, taken in times.items():
            taken.append(seconds(work))
    medians = [1000 * statistics.median(taken) for taken in times.values()]
    slowest = torch.tensor(medians, dtype=torch.float64, device=inputs.device)
    dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
    step_ms, compute_ms, total_ms = slowest.tolist()
    exposed_ms = step_ms - compute_ms
    return {
        "step_ms": step_ms,
        "compute_ms": compute_ms,
        "total_ms": total_ms,
        "exposed_ms": exposed_ms,
        "exposed_percent": 100 * exposed_ms / step_ms,
        "hidden_percent": 100 * (1 - exposed_ms / total_ms),
        "collectives": len(calls),
        "bytes": sum(call["bytes"] for call in calls),
    }
    ### END SOLUTION


def _now(device) -> float:
    """Return seconds, when the device has done its work."""
    if device.type == "cuda":
        torch.cuda.current_stream().synchronize()
    return float(time.perf_counter())


# %% [markdown]
# ## 2.2 The link
#
# A transfer costs a latency, however small it is, and then time for each byte.


# %%
def measure_link(sizes, repeats=9, folder=".") -> list[dict[str, Any]]:
    """Time dist.all_reduce in each of `sizes` (bytes, multiples of 4); all processes of the group call this.

    The tensor is on the GPU of this process if the backend is nccl, else on the CPU. Before the clock starts, an
    untimed call or a barrier is allowed.
    A row has: bytes; ms (the largest of all ranks' medians of `repeats` calls); bus_gb_s (the bytes that a
    rank sends in a ring, 2 (n - 1) / n times the size, divided by this time, in 1e9 bytes a second); device (its name).
    The rows are the same in every process. Rank 0 writes them, not rounded, to allreduce_times.csv in `folder`; no
    other rank writes anything.
    """
    # TODO: one tensor for each size. Put the medians of all sizes into one tensor: a single all_reduce with MAX gives
    # the largest median of each size.
    ### BEGIN SOLUTION
    on_gpu = dist.get_backend() == "nccl"
    device = torch.device("cuda", torch.cuda.current_device()) if on_gpu else torch.device("cpu")
    medians = []
    for size in sizes:
        tensor = torch.zeros(size // 4, device=device)
        dist.all_reduce(tensor)  # the first call also connects
        seconds = []
        for _ in range(repeats):
            dist.barrier()
            start = _now(device)
            dist.all_reduce(tensor)
            seconds.append(_now(device) - start)
        medians.append(statistics.median(seconds))
    slowest = torch.tensor(medians, dtype=torch.float64, device=device)
    dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
    rows = [
        {
            "bytes": size,
            "ms": 1e3 * seconds,
            "bus_gb_s": sent_bytes("all_reduce", size, dist.get_world_size()) / seconds / 1e9,
            "device": given.device_name(device),
        }
        for size, seconds in zip(sizes, slowest.tolist(), strict=True)
    ]
    if dist.get_rank() == 0:
        pd.DataFrame(rows).to_csv(Path(folder) / "allreduce_times.csv", index=False)
    return rows
    ### END SOLUTION


# %%
def fit_link(rows) -> tuple[float, float]:
    """Return (latency_ms, bytes_per_ms) of the line ms = latency_ms + bytes / bytes_per_ms, by least squares."""
    # TODO: a straight line through (bytes, ms).
    ### BEGIN SOLUTION
    slope, latency = np.polyfit([row["bytes"] for row in rows], [row["ms"] for row in rows], 1)
    return float(latency), float(1 / slope)
    ### END SOLUTION


# %%
def sent_bytes(operation, nbytes, processes) -> float:
    """Return how many bytes each rank sends in a ring, not rounded; `nbytes` are those of the whole tensor.

    `operation` is "all_reduce", "all_gather" or "reduce_scatter". One process sends nothing.
    """
    # TODO: an all_reduce is a reduce_scatter and an all_gather.
    ### BEGIN SOLUTION
    rounds = 2 if operation == "all_reduce" else 1
    return rounds * (processes - 1) / processes * nbytes
    ### END SOLUTION


# %% [markdown]
# ## 2.3 What would help


# %%
def advise(figures, latency_ms) -> str:
    """Return what would help, one of given.ADVICE; `figures` are what measure_communication returns.

    "nothing" if exposed_percent is below 5. "larger buckets" if the latencies of all collectives are more than half of
    total_ms. "accumulate" if total_ms is more than compute_ms: computing is too short to hide the transfers. "overlap"
    if hidden_percent is below 50. "compress" if none of these holds. The first advice whose condition holds is
    returned.
    """
    # TODO: five cases, in this order.
    ### BEGIN SOLUTION
    if figures["exposed_percent"] < 5:
        return "nothing"
    if figures["collectives"] * latency_ms > figures["total_ms"] / 2:
        return "larger buckets"
    if figures["total_ms"] > figures["compute_ms"]:
        return "accumulate"
    return "overlap" if figures["hidden_percent"] < 50 else "compress"
    ### END SOLUTION


# %%
SIZES = [4**k for k in range(5, 13)]  # 1 KB to 16 MB


def work(rank, device) -> None:
    """Measure a network and the link, as one of the processes."""
    torch.manual_seed(rank)
    rows = measure_link(SIZES)
    latency_ms, bytes_per_ms = fit_link(rows)
    network = given.Net(features=256, width=512, layers=6).to(device)
    model = DistributedDataParallel(network, bucket_cap_mb=1)
    batch = torch.randn(256, 256, device=device), torch.randint(0, 10, (256,), device=device)
    figures = measure_communication(model, batch, nn.CrossEntropyLoss())
    if rank == 0:
        print(pd.DataFrame(rows).to_string(index=False))
        print(f"latency {latency_ms:.3f} ms, {bytes_per_ms / 1e6:.2f} GB/s")
        print({name: round(value, 2) for name, value in figures.items()})
        print(f"advice: {advise(figures, latency_ms)}")


if __name__ == "__main__":
    given.start(work)
