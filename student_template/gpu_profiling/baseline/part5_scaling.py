"""Part 5 before the work: each process trains by itself, on everything; and scaling as the original lab measured it.

Yours is compared with what one process does on the joined batches.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from torch.utils.data import DataLoader

from given import device_name


def setup_ddp() -> torch.device:
    """Join nothing; every process takes the first GPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def train_ddp(
    model, dataset, criterion, make_optimizer, batch_size, epochs, device, seed=0, workers=0
) -> dict[str, list[float]]:
    """Train alone on the whole data set, however many processes do the same."""
    model.to(device).train()
    optimizer = make_optimizer(model.parameters())
    loader = DataLoader(dataset, batch_size, shuffle=True, num_workers=workers)
    losses, seconds = [], []
    for _ in range(epochs):
        start, total = time.perf_counter(), 0.0
        for images, labels in loader:
            images, labels = images.to(device), labels.to(device)
            optimizer.zero_grad()
            loss = criterion(model(images), labels)
            loss.backward()
            optimizer.step()
            total += loss.item()
        losses.append(total / len(loader))
        seconds.append(time.perf_counter() - start)
    return {"losses": losses, "seconds": seconds}


def measure_scaling_efficiency(run, processes, samples, batch_size, device, folder=".") -> list[dict[str, Any]]:
    """Keep the batch size of each process, and compare the seconds of all epochs, the first one included."""
    rows: list[dict[str, Any]] = []
    for count in processes:
        seconds = sum(run(count, samples, batch_size))
        speedup = rows[0]["seconds"] / seconds if rows else 1.0
        rows.append(
            {
                "scaling": "strong",
                "processes": count,
                "batch_size": batch_size,
                "samples": samples,
                "seconds": seconds,
                "throughput": samples / seconds,
                "speedup": speedup,
                "efficiency": speedup / count,
                "device": device_name(device),
            }
        )
    pd.DataFrame(rows).to_csv(Path(folder) / "scaling_results.csv", index=False)
    return rows
