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
    ### BEGIN SOLUTION
    samples, data_wait = 0, 0.0
    start = fetch = time.perf_counter()
    for images, labels in loader:
        data_wait += time.perf_counter() - fetch
        images, labels = images.to(device, non_blocking=True), labels.to(device, non_blocking=True)
        step(images, labels)
        samples += len(labels)
        fetch = time.perf_counter()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    epoch_time = time.perf_counter() - start
    return {
        "samples": samples,
        "epoch_time": epoch_time,
        "throughput": samples / epoch_time,
        "data_wait": data_wait,
    }
    ### END SOLUTION


def second_epoch(loader, step, device) -> dict[str, Any]:
    """A helper: measure the second epoch of a loader. The first fills caches, and starts persistent workers."""
    # TODO: measure_loading twice; return the second.
    ### BEGIN SOLUTION
    measure_loading(loader, step, device)
    return measure_loading(loader, step, device)
    ### END SOLUTION


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
    ### BEGIN SOLUTION
    ahead = {"persistent_workers": True, "prefetch_factor": 4} if num_workers else {}
    return DataLoader(
        dataset,
        batch_size,
        shuffle=True,
        num_workers=num_workers,
        pin_memory=device.type == "cuda",
        generator=torch.Generator().manual_seed(seed),
        **ahead,
    )
    ### END SOLUTION


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
    ### BEGIN SOLUTION
    rows: list[dict[str, Any]] = []
    for number in workers:
        seen = second_epoch(make_loader(num_workers=number), step, device)
        without = seen["samples"] / (seen["epoch_time"] - seen["data_wait"])
        values = (number, seen["throughput"], seen["epoch_time"], seen["data_wait"], without, device_name(device))
        rows.append(dict(zip(SWEEP, values, strict=True)))
    pd.DataFrame(rows, columns=SWEEP).to_csv(Path(folder) / "worker_sweep.csv", index=False)

    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
    left.plot(workers, [row["throughput"] for row in rows], "o-", label="whole iterations")
    left.plot(workers, [row["without_wait"] for row in rows], "o:", color="C7", label="without the wait")
    left.set_ylabel("Throughput (samples/s)")
    left.legend()
    right.plot(workers, [row["epoch_time"] for row in rows], "o-", color="C1")
    right.set_ylabel("Epoch time (s)")
    for axis in (left, right):
        axis.set_xlabel("num_workers")
        axis.set_xticks(workers)
        axis.set_ylim(bottom=0)
    figure.suptitle(f"How many workers, {rows[0]['device']}")
    figure.savefig(Path(folder) / "num_workers_comparison.png", dpi=150)
    plt.close(figure)
    return rows
    ### END SOLUTION


def best_workers(rows) -> int:
    """Return the num_workers of the row with the highest throughput; the fewest workers if several are equal."""
    # TODO: take the row with the highest throughput, not without_wait. It may be the row of 0 workers.
    ### BEGIN SOLUTION
    return min(rows, key=lambda row: (-row["throughput"], row["num_workers"]))["num_workers"]
    ### END SOLUTION


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
    ### BEGIN SOLUTION
    workers = {"num_workers": best}
    pinned = {**workers, "pin_memory": device.type == "cuda"}
    stays = {**pinned, **({"persistent_workers": True, "prefetch_factor": 4} if best else {})}
    rows: list[dict[str, Any]] = []
    for name, options in zip(CONFIGURATIONS, ({"num_workers": 0}, workers, pinned, stays), strict=True):
        seen = second_epoch(make_loader(**options), step, device)
        speedup = seen["throughput"] / rows[0]["throughput"] if rows else 1.0
        figures = (seen["throughput"], seen["epoch_time"], seen["data_wait"], speedup)
        values = (name, options["num_workers"], *figures, device_name(device))
        rows.append(dict(zip(COMPARED, values, strict=True)))
    pd.DataFrame(rows, columns=COMPARED).to_csv(Path(folder) / "dataloader_results.csv", index=False)

    figure, axes = plt.subplots(1, 2, figsize=(12, 4), layout="constrained")
    panels = {"throughput": "Throughput (samples/s)", "speedup": "Speedup over Baseline (x)"}
    for axis, (column, label) in zip(axes, panels.items(), strict=True):
        bars = axis.bar(CONFIGURATIONS, [row[column] for row in rows], color=["C7", "C0", "C2", "C1"], width=0.6)
        axis.bar_label(bars, fmt="{:,.2f}", padding=2)
        axis.margins(y=0.12)
        axis.set_ylabel(label)
    figure.suptitle(f"Data loading with {best} workers, {rows[0]['device']}")
    figure.savefig(Path(folder) / "dataloader_optimization.png", dpi=150)
    plt.close(figure)
    return rows
    ### END SOLUTION


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
