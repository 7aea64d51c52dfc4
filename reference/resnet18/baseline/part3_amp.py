"""Part 3 before the work: FP32 whatever is asked for, two waits for the device at every step, honest timing.

Yours is compared with it: the same losses in FP32, nearly the same in mixed precision, and faster on a GPU.
"""

from __future__ import annotations

import csv
import time
from itertools import islice
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import torch

from given import device_name


def train_epoch_amp(
    model,
    loader,
    criterion,
    optimizer,
    device,
    use_amp=False,
    scaler=None,
    max_grad_norm=None,
) -> dict[str, Any]:
    """Train for one epoch in FP32; use_amp and scaler are ignored."""
    model.train()
    losses, correct, samples, data_wait = [], 0, 0, 0.0
    start = fetch = time.perf_counter()
    for images, labels in loader:
        data_wait += time.perf_counter() - fetch
        images, labels = images.to(device), labels.to(device)
        optimizer.zero_grad()
        outputs = model(images)
        loss = criterion(outputs, labels)
        loss.backward()
        if max_grad_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_grad_norm)
        optimizer.step()
        losses.append(loss.item())
        correct += (outputs.argmax(dim=1) == labels).sum().item()
        samples += len(labels)
        fetch = time.perf_counter()
    seconds = time.perf_counter() - start
    return {
        "losses": losses,
        "loss": sum(losses) / len(losses),
        "accuracy": 100 * correct / samples,
        "throughput": samples / seconds,
        "data_wait": data_wait,
    }


def compare_precision(make_training, loader, device, folder=".") -> list[dict[str, Any]]:
    """Measure the same FP32 epoch under both names."""
    rows = [measure(precision, make_training, loader, device) for precision in ("FP32", "AMP")]
    for row in rows:
        row["speedup"] = row["throughput"] / rows[0]["throughput"]
        row["device"] = device_name(device)
    with (Path(folder) / "amp_results.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    draw(rows, Path(folder) / "amp_comparison.png")
    return rows


def measure(precision, make_training, loader, device) -> dict[str, Any]:
    """Train a throw-away model for a few batches, then measure one epoch from fresh weights."""
    on_gpu = device.type == "cuda"
    model, criterion, optimizer = make_training(device)
    train_epoch_amp(model, islice(loader, 3), criterion, optimizer, device)
    model, criterion, optimizer = make_training(device)
    if on_gpu:
        torch.cuda.reset_peak_memory_stats(device)
    start = time.perf_counter()
    metrics = train_epoch_amp(model, loader, criterion, optimizer, device)
    return {
        "precision": precision,
        "throughput": metrics["throughput"],
        "epoch_time": time.perf_counter() - start,
        "peak_memory_mb": torch.cuda.max_memory_allocated(device) / 1e6 if on_gpu else None,
        "accuracy": metrics["accuracy"],
    }


def draw(rows, path) -> None:
    """Draw one panel for each quantity that was measured."""
    labels = {
        "throughput": "Throughput (samples/s)",
        "peak_memory_mb": "Peak memory (MB)",
        "speedup": "Speedup over FP32 (x)",
    }
    labels = {column: label for column, label in labels.items() if rows[0][column] is not None}
    figure, axes = plt.subplots(1, len(labels), figsize=(4 * len(labels), 4), layout="constrained")
    for axis, (column, label) in zip(axes, labels.items(), strict=True):
        axis.bar([row["precision"] for row in rows], [row[column] for row in rows])
        axis.set_ylabel(label)
    figure.savefig(path, dpi=100)
    plt.close(figure)
