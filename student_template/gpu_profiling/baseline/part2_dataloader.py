"""Part 2 before the work: one process reads, every copy is waited for, and a benchmark as the original lab had it.

Your loader must deliver the same samples, and your training the same losses and weights. This measure_loader has
mistakes that yours must not have.
"""

from __future__ import annotations

import csv
import time
from itertools import product
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader

from given import device_name
from given.training_unoptimized import train_epoch

COLUMNS = ["batch_size", "num_workers", "pin_memory", "samples", "seconds", "throughput", "device"]


def make_loader_optimized(dataset, batch_size, device, num_workers=0) -> DataLoader:
    """Read in this process, one sample after the other, always in the same order."""
    return DataLoader(dataset, batch_size)


def train_epoch_optimized(model, loader, criterion, optimizer, device, on_step=None) -> list[float]:
    """Train as the script does."""
    return train_epoch(model, loader, criterion, optimizer, device, on_step)


def measure_loader(loader, device, warm_up=8, batches=24) -> dict[str, Any]:
    """Warm up with one loop, time another."""
    for index, (images, labels) in enumerate(loader):
        images, labels = images.to(device), labels.to(device)
        if index >= warm_up:
            break
    if device.type == "cuda":
        torch.cuda.synchronize()
    start = time.perf_counter()
    for index, (images, labels) in enumerate(loader):
        images, labels = images.to(device), labels.to(device)
        if index >= batches:
            break
    if device.type == "cuda":
        torch.cuda.synchronize()
    seconds = time.perf_counter() - start
    samples = batches * loader.batch_size
    return {"samples": samples, "seconds": seconds, "throughput": samples / seconds}


def benchmark_dataloader(
    make_loader, device, batch_sizes, workers, pins, folder=".", **options
) -> list[dict[str, Any]]:
    """Measure each combination."""
    rows = []
    for batch_size, num_workers, pin_memory in product(batch_sizes, workers, pins):
        asked = {"batch_size": batch_size, "num_workers": num_workers, "pin_memory": pin_memory}
        seen = measure_loader(make_loader(**asked), device, **options)
        rows.append({**asked, **seen, "device": device_name(device)})
    with (Path(folder) / "dataloader_results.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    return rows


def best_configuration(rows) -> dict[str, Any]:
    """Take the last row: the largest batch, the most workers, pinned memory, as recipes say."""
    return {name: rows[-1][name] for name in ("batch_size", "num_workers", "pin_memory")}
