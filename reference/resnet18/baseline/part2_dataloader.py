"""The starting point: `make_loader_optimized` has no workers, and the clock starts when the batch is there.

Yours is compared with its loader. Its measurement is the usual one: run `python -m baseline.part2_dataloader`, and
compare throughput with epoch_time.
"""

from __future__ import annotations

import csv
import time
import warnings
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import matplotlib.pyplot as plt
import torch
from torch.utils.data import DataLoader

from given import device_name, loading_workload, make_dataset, make_step


def measure_loading(loader, step, device) -> dict[str, Any]:
    """Add up the seconds of each batch, from when it is there until its step has returned."""
    samples, seconds = 0, 0.0
    began = time.perf_counter()
    for images, labels in loader:
        start = time.perf_counter()
        images, labels = images.to(device), labels.to(device)
        step(images, labels)
        samples += len(labels)
        seconds += time.perf_counter() - start
    epoch_time = time.perf_counter() - began
    return {"samples": samples, "epoch_time": epoch_time, "throughput": samples / seconds, "data_wait": 0.0}


def make_loader_optimized(dataset, batch_size, device, num_workers=0, seed=0) -> DataLoader:
    """Read in this process, one sample after the other, always in the same order."""
    return DataLoader(dataset, batch_size)


def sweep_workers(make_loader, workers, step, device, folder=".") -> list[dict[str, Any]]:
    """Measure one epoch for each number of workers."""
    rows = []
    for number in workers:
        seen = measure_loading(make_loader(num_workers=number), step, device)
        del seen["samples"]
        rows.append({"num_workers": number, **seen, "without_wait": seen["throughput"], "device": device_name(device)})
    write(rows, "num_workers", Path(folder) / "worker_sweep.csv", Path(folder) / "num_workers_comparison.png")
    return rows


def best_workers(rows) -> int:
    """Take the highest throughput."""
    return max(rows, key=lambda row: row["throughput"])["num_workers"]


def compare_configurations(make_loader, best, step, device, folder=".") -> list[dict[str, Any]]:
    """Measure the same loader under all names."""
    rows: list[dict[str, Any]] = []
    for name in ("Baseline", "+ workers", "+ pin_memory", "+ persistent workers"):
        seen = measure_loading(make_loader(num_workers=0), step, device)
        del seen["samples"]
        speedup = seen["throughput"] / rows[0]["throughput"] if rows else 1.0
        rows.append(
            {"configuration": name, "num_workers": 0, **seen, "speedup": speedup, "device": device_name(device)}
        )
    folder = Path(folder)
    write(rows, "configuration", folder / "dataloader_results.csv", folder / "dataloader_optimization.png")
    return rows


def write(rows, key, table, picture) -> None:
    """Write the rows, and bars of their throughput."""
    with table.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    figure, axis = plt.subplots(layout="constrained")
    axis.bar([str(row[key]) for row in rows], [row["throughput"] for row in rows])
    axis.set_ylabel("Throughput (samples/s)")
    figure.savefig(picture, dpi=100)
    plt.close(figure)


if __name__ == "__main__":
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", "This DataLoader will create")  # more workers than cores: these sleep
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    sizes = loading_workload(device)
    make_loader = partial(DataLoader, make_dataset(**sizes), sizes["batch_size"])
    with TemporaryDirectory() as folder:
        rows = sweep_workers(make_loader, [0, 2, 4, 8], make_step(device), device, folder)
    for row in rows:
        print(
            f"{row['num_workers']} workers: {row['throughput']:.1f} samples/s, the epoch took {row['epoch_time']:.2f} s"
        )
