# %% [markdown]
# # Part 2: the data loader
#
# Between two training steps the next batch must be read. With `num_workers=0` the training process reads it, and the
# GPU waits. Worker processes read ahead while the step runs.
#
# | argument | what it does | when it helps |
# |---|---|---|
# | `num_workers` | processes that read batches ahead | reading takes long: a slow disk, or much work for the CPU |
# | `pin_memory` | batches are in memory that never moves: a `non_blocking` copy lets the host go on | on a GPU only |
# | `persistent_workers` | workers stay from one epoch to the next | short epochs, slow imports |
# | `prefetch_factor` | batches that each worker keeps ready | reads of uneven length |
#
# You measure here whether they help. The usual measurement cannot see that: run
# `python -m baseline.part2_dataloader` first, and compare its throughput with its epoch times.

# %%
from __future__ import annotations

import time
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
import torch
from torch.utils.data import DataLoader

from given import device_name, loading_workload, make_dataset, make_step, quietest

# %% [markdown]
# ## 2.1 Measure an epoch
#
# A clock that starts when the batch is there measures the step and nothing else. So let it run from before the loop
# requests its first batch until the device has finished the last one, and add up separately how long you waited.


# %%
def measure_loading(loader, step, device) -> dict[str, Any]:
    """Go through the loader once; move each batch to the device and pass it to step(images, labels).

    Returns a dict:
        samples     how many there were
        epoch_time  seconds from before the first batch is requested until the device has finished the last
        throughput  samples / epoch_time
        data_wait   seconds spent waiting for the loader, the first batch included
    """
    # TODO: read the clock before the loop, and again whenever a batch has arrived and whenever a step has returned.
    # TODO: .to(device, non_blocking=True); on a GPU torch.cuda.synchronize() before the last reading.
    # YOUR CODE HERE
    raise NotImplementedError()


def second_epoch(loader, step, device) -> dict[str, Any]:
    """A helper: measure the second epoch of a loader. The first fills caches, and starts persistent workers."""
    # TODO: measure_loading twice; return the second.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## 2.2 A loader with all options
#
# Every sample once an epoch, in an order that is new in each epoch and follows from the seed, the short last batch
# included. It must work with `num_workers=0` too, where `persistent_workers` and `prefetch_factor` are errors.
#
# Workers are copies of one process: two with the same random seed would augment alike. PyTorch gives each its own seed
# for `torch`, `random` and `numpy`. Leave that alone.


# %%
def make_loader_optimized(dataset, batch_size, device, num_workers=0, seed=0) -> DataLoader:
    """Return a DataLoader that shuffles by the seed, reads ahead with num_workers processes, and keeps them.

    pin_memory if the device is a GPU; persistent_workers if there are workers, with a prefetch_factor if you like.
    """
    # TODO: a torch.Generator with the seed decides the order.
    # TODO: no argument that num_workers=0 does not allow; no sample is dropped.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## 2.3 How many workers
#
# With too few, the device waits. Each needs memory and time to start, and too many fight for cores. Only a measurement
# finds the number. `without_wait` leaves the wait out: it is the throughput that the baseline reports, because its
# clock starts when the batch is there.

# %%
SWEEP = ["num_workers", "throughput", "epoch_time", "data_wait", "without_wait", "device"]


def sweep_workers(make_loader, workers, step, device, folder=".") -> list[dict[str, Any]]:
    """Measure the second epoch of a loader for each number of workers; return and write one row for each.

    make_loader(num_workers=n) returns a loader.

    A row has the names in SWEEP: num_workers, throughput (samples/s), epoch_time (s), data_wait (s),
    without_wait (samples / (epoch_time - data_wait)), device (its name). Rows are in the order of workers.
    Writes worker_sweep.csv and num_workers_comparison.png into folder.
    """
    # TODO: a new loader for each number, and the second epoch of it.
    # TODO: two panels, throughput and epoch_time over num_workers.
    # YOUR CODE HERE
    raise NotImplementedError()


def best_workers(rows) -> int:
    """Return the num_workers of the row with the highest throughput; the fewest workers if several are equal."""
    # TODO: take the row with the highest throughput, not without_wait. It may be the row of 0 workers.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## 2.4 One argument after the other
#
# Each configuration adds something to the one before it, so two rows show what that gains.

# %%
COMPARED = ["configuration", "num_workers", "throughput", "epoch_time", "data_wait", "speedup", "device"]
CONFIGURATIONS = ["Baseline", "+ workers", "+ pin_memory", "+ persistent workers"]


def compare_configurations(make_loader, best, step, device, folder=".") -> list[dict[str, Any]]:
    """Measure the second epoch of each of CONFIGURATIONS; return and write one row for each.

    make_loader(**options) returns a loader; options have DataLoader's names. Baseline has num_workers=0, the others
    num_workers=best. The last two have pin_memory=True if the device is a GPU. The last one also has
    persistent_workers=True and prefetch_factor=4, if best is not 0.

    A row has the names in COMPARED: configuration, num_workers, throughput (samples/s), epoch_time (s), data_wait (s),
    speedup (throughput / Baseline's), device (its name).
    Writes dataloader_results.csv and dataloader_optimization.png into folder.
    """
    # TODO: best may be 0.
    # TODO: a panel for throughput and one for speedup, one bar per row.
    # YOUR CODE HERE
    raise NotImplementedError()


# %%
if __name__ == "__main__":
    torch.set_num_threads(1)  # on shared cores, more threads would take cores from the workers
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    sizes = loading_workload(device)
    dataset, step = make_dataset(**sizes), make_step(device)
    make_loader = partial(DataLoader, dataset, sizes["batch_size"], shuffle=True)
    warnings.filterwarnings("ignore", "This DataLoader will create")  # more workers than cores: they mostly sleep
    rows = quietest(partial(sweep_workers, make_loader, [0, 2, 4, 8], step, device))
    print(pd.DataFrame(rows).to_string(index=False))
    compared = quietest(partial(compare_configurations, make_loader, best_workers(rows), step, device))
    print(pd.DataFrame(compared).to_string(index=False))
