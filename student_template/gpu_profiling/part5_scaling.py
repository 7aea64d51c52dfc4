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
    # YOUR CODE HERE
    raise NotImplementedError()


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
    # YOUR CODE HERE
    raise NotImplementedError()


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
    # YOUR CODE HERE
    raise NotImplementedError()


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
