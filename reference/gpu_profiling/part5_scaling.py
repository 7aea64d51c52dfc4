# %% [markdown]
# # Part 5: scaling
#
# Several processes train one model together: each has a copy of it and a part of the data. After each backward pass,
# gradients are averaged, so all copies take the same step. The gain is measured in two ways:
#
# | | stays the same | grows with n processes | ideal |
# |---|---|---|---|
# | strong scaling | the data set, the whole batch | nothing | an epoch takes 1/n of the time |
# | weak scaling | the share of each process | the data set, the whole batch | an epoch takes as long as one process's |
#
# For both, **speedup** is samples per second / those of one process, and **efficiency** is speedup / n.

# %%
from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler
from torchvision import transforms

from given import Photos, SimpleNet, device_name

# %% [markdown]
# ## 5.1 Who am I
#
# `torchrun` starts the processes and tells each of them in its environment: `RANK` is its number among all processes,
# `LOCAL_RANK` its number on its machine; both begin with 0. Choose the GPU by the second, everything else by the first.


# %%
def setup_ddp() -> torch.device:
    """Join the process group that the environment describes; return the device of this process.

    If torch.cuda.is_available(), join by nccl, and the device is the GPU with number LOCAL_RANK. Else join by gloo, and
    the device is the CPU.
    """
    # TODO: init_process_group takes rank and size from the environment.
    ### BEGIN SOLUTION
    if not torch.cuda.is_available():
        dist.init_process_group("gloo")
        return torch.device("cpu")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)  # what says no device means this one: it would be GPU 0 in every process
    dist.init_process_group("nccl")
    return device
    ### END SOLUTION


# %% [markdown]
# ## 5.2 Train together
#
# Four things make a training distributed: the wrapper, the sampler, `set_epoch`, and an `all_reduce` (the sum or
# the largest) for each number that describes the whole training.


# %%
def train_ddp(
    model, dataset, criterion, make_optimizer, batch_size, epochs, device, seed=0, workers=0
) -> dict[str, list[float]]:
    """Train as one process of the group that `setup_ddp` joined; every process calls this.

    Each takes batches of *batch_size* samples in the order of a DistributedSampler with *seed*, shuffled again for each
    epoch. *workers* processes load them; with 0, this process does. make_optimizer(parameters) returns the optimizer;
    criterion(outputs, labels) returns the mean loss of a batch. All start from the weights of rank 0. At the end,
    *model* holds the trained weights in every process.

    Returns, for each epoch, the same in every process:
        losses      the mean over the samples of all processes
        seconds     how long the slowest process took, its loading and the device's work included
    """
    # TODO: DistributedDataParallel, DistributedSampler with set_epoch.
    # TODO: dist.all_reduce adds up numbers of all processes, or takes the largest. Put the numbers on the device.
    ### BEGIN SOLUTION
    parallel = DistributedDataParallel(model.to(device))  # copies the weights of rank 0 to everyone
    optimizer = make_optimizer(parallel.parameters())
    sampler = DistributedSampler(dataset, shuffle=True, seed=seed)  # asks the group for rank and size
    on_gpu = device.type == "cuda"
    loader = DataLoader(dataset, batch_size, sampler=sampler, num_workers=workers, pin_memory=on_gpu)

    def now():
        if on_gpu:
            torch.cuda.synchronize(device)
        return time.perf_counter()

    losses, seconds = [], []
    parallel.train()
    for epoch in range(epochs):
        sampler.set_epoch(epoch)  # without it every epoch has the same order
        total = torch.zeros(2, dtype=torch.float64, device=device)  # sum of the losses, samples
        start = now()
        for images, labels in loader:
            images, labels = images.to(device, non_blocking=True), labels.to(device, non_blocking=True)
            optimizer.zero_grad()
            loss = criterion(parallel(images), labels)
            loss.backward()  # averages the gradients of all processes, while the rest of it still runs
            optimizer.step()
            total[0] += loss.detach() * len(labels)
            total[1] += len(labels)
        longest = torch.tensor(now() - start, dtype=torch.float64, device=device)
        dist.all_reduce(total)  # adds up
        dist.all_reduce(longest, op=dist.ReduceOp.MAX)
        losses.append((total[0] / total[1]).item())
        seconds.append(longest.item())
    return {"losses": losses, "seconds": seconds}
    ### END SOLUTION


# %% [markdown]
# ## 5.3 What more processes are worth
#
# The original lab kept the whole data set and the batch size of each process, and called that strong scaling. With 8
# processes it takes an eighth of the steps with a batch 8 times as large, which does not say what 8 GPUs are worth.

# %%
COLUMNS = [
    "scaling", "processes", "batch_size", "samples", "seconds", "throughput", "speedup", "efficiency", "device"
]  # fmt: skip


def measure_scaling_efficiency(run, processes, samples, batch_size, device, folder=".") -> list[dict[str, Any]]:
    """Measure strong scaling for each number of *processes*, the first of which is 1, then weak; return the rows.

    run(processes, samples, batch_size) trains in so many processes, on so many samples in all, with batches of
    batch_size in each process, and returns the seconds of each epoch. *samples* and *batch_size* are what it gets for
    one process.
    A row has the names in COLUMNS: scaling ("strong" or "weak"), processes, batch_size and samples as `run` was given
    them, seconds (median of the epochs after the first), throughput (samples/s), speedup (throughput over that of one
    process), efficiency (speedup / processes), device (its name).

    Raise ValueError before the first run if *processes* does not begin with 1, or if one of its numbers does not divide
    batch_size. Raise it after a run that returned only one epoch, or in which an epoch after the first took 0 seconds.
    Write scaling_results.csv and scaling_curves.png into folder.
    """
    # TODO: which runs? Then the median, and three divisions.
    # TODO: two panels, speedup and efficiency, with a line for each kind of scaling, and xticks=processes.
    ### BEGIN SOLUTION
    if processes[0] != 1 or any(batch_size % count for count in processes):
        raise ValueError(f"processes {processes}: 1 comes first, and each divides a batch of {batch_size}")
    plans = {
        "strong": [(count, samples, batch_size // count) for count in processes],
        "weak": [(count, samples * count, batch_size) for count in processes],
    }
    rows: list[dict[str, Any]] = []
    for scaling, plan in plans.items():
        alone = None
        for count, total, batch in plan:
            epochs = run(count, total, batch)[1:]  # in the first one everything starts
            if not epochs or min(epochs) <= 0:
                raise ValueError(f"{count} processes: an epoch after the first is asked for, not {epochs} seconds")
            seconds = statistics.median(epochs)
            throughput = total / seconds
            alone = alone or throughput
            speedup = throughput / alone
            values = (scaling, count, batch, total, seconds, throughput, speedup, speedup / count, device_name(device))
            rows.append(dict(zip(COLUMNS, values, strict=True)))

    table = pd.DataFrame(rows, columns=COLUMNS)
    table.to_csv(Path(folder) / "scaling_results.csv", index=False)
    figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
    for axis, name in zip(axes, ("speedup", "efficiency"), strict=True):
        for scaling, mine in table.groupby("scaling"):
            axis.plot(mine["processes"], mine[name], "o-", label=scaling)
        ideal = processes if name == "speedup" else [1] * len(processes)
        axis.plot(processes, ideal, "--", color="grey", label="ideal")
        axis.set(xlabel="processes", xticks=processes, ylabel=name, ylim=(0, None))
        axis.legend()
    figure.suptitle(rows[0]["device"])
    figure.savefig(Path(folder) / "scaling_curves.png", dpi=150)
    plt.close(figure)
    return rows
    ### END SOLUTION


# %%
EPOCHS = 6  # the first does not count; the median of the others does


def workload(device) -> dict[str, Any]:
    """Return the sizes of one process: those of the lab on a GPU, small ones where there is none."""
    if device.type == "cuda":
        return {"side": 224, "width": 64, "workers": 4, "samples": 6400, "batch_size": 256}
    return {"side": 32, "width": 8, "workers": 0, "samples": 640, "batch_size": 64}


def launch(processes, samples, batch_size) -> list[float]:
    """Let torchrun start this file in so many processes; return the seconds of each epoch."""
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder) / "told.json"
        torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
        asked = ["--samples", str(samples), "--batch-size", str(batch_size), "--told", str(told)]
        one_thread = {**os.environ, "OMP_NUM_THREADS": "1"}  # torchrun would set the same, with a warning
        subprocess.run([*torchrun, __file__, *asked], check=True, env=one_thread)
        return json.loads(told.read_text())["seconds"]


def be_one_of_them() -> None:
    """Train as a process that torchrun started; rank 0 writes the result to a file."""
    parser = argparse.ArgumentParser()
    for name, kind in (("--samples", int), ("--batch-size", int), ("--told", Path)):
        parser.add_argument(name, type=kind, required=True)
    asked = parser.parse_args()
    torch.set_num_threads(1)  # torchrun limits threads for two processes and more, but not for one
    torch.manual_seed(0)
    device = setup_ddp()
    try:
        size = workload(device)
        resize = transforms.Compose([transforms.Resize((size["side"], size["side"])), transforms.ToTensor()])
        told = train_ddp(
            SimpleNet(size["width"]),
            Photos(asked.samples, transform=resize),
            nn.CrossEntropyLoss(),
            lambda parameters: torch.optim.SGD(parameters, lr=0.05, momentum=0.9),
            asked.batch_size,
            EPOCHS,
            device,
            workers=size["workers"],
        )
        if dist.get_rank() == 0:
            asked.told.write_text(json.dumps(told))
    finally:
        dist.destroy_process_group()


def main() -> None:
    """Measure with 1, 2, 4, 8 processes: at most one for each GPU, or without a GPU two for each core.

    nccl wants a GPU for each process, so with exactly one GPU the CPU is measured.
    """
    gpus = torch.cuda.device_count()
    if gpus == 1:
        os.environ["CUDA_VISIBLE_DEVICES"], gpus = "", 0  # the processes that torchrun starts see no GPU
    device = torch.device("cuda" if gpus else "cpu")
    most = gpus or 2 * (os.cpu_count() or 1)
    processes, size = [count for count in (1, 2, 4, 8) if count <= most], workload(device)
    rows = measure_scaling_efficiency(launch, processes, size["samples"], size["batch_size"], device)
    print(pd.DataFrame(rows).to_string(index=False))


if __name__ == "__main__":
    if dist.is_torchelastic_launched():
        be_one_of_them()
    else:
        main()
