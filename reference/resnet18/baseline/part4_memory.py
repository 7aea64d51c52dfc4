"""Part 4 before the work: one step per batch, and everything is kept for the backward pass.

Yours is compared with it. Accumulation is compared with this loop on batches that are as large as a group.
"""

from __future__ import annotations

import csv
import time
from itertools import islice
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import torch
from torch import nn

from given import device_name, saved_mb


def train_epoch_with_accumulation(model, loader, criterion, optimizer, device, accumulation_steps=1) -> dict[str, Any]:
    """Train for one epoch, one step per batch; to compare it with groups, make batches as large as a group."""
    model.train()
    losses, sizes, correct, data_wait = [], [], 0, 0.0
    start = fetch = time.perf_counter()
    for images, labels in loader:
        data_wait += time.perf_counter() - fetch
        images, labels = images.to(device), labels.to(device)
        optimizer.zero_grad()
        outputs = model(images)
        loss = criterion(outputs, labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        sizes.append(len(labels))
        correct += (outputs.argmax(dim=1) == labels).sum().item()
        fetch = time.perf_counter()
    seconds, samples = time.perf_counter() - start, sum(sizes)
    return {
        "losses": losses,
        "loss": sum(loss * size for loss, size in zip(losses, sizes, strict=True)) / samples,
        "accuracy": 100 * correct / samples,
        "throughput": samples / seconds,
        "data_wait": data_wait,
    }


def run_checkpointed(segment, x) -> torch.Tensor:
    """Run it; all that is inside is kept."""
    return segment(x)


class ResNet18Checkpointed(nn.Module):
    """The ResNet as it is."""

    def __init__(self, resnet) -> None:
        """Hold it."""
        super().__init__()
        self.resnet = resnet

    def forward(self, images) -> torch.Tensor:
        """Run it."""
        return self.resnet(images)


def compare_checkpointing(make_training, loader, device, folder=".") -> list[dict[str, Any]]:
    """Measure the same epoch under both names."""
    rows = [measure(name, make_training, loader, device) for name in ("Standard", "With Checkpointing")]
    for row in rows:
        row["slowdown"] = rows[0]["throughput"] / row["throughput"]
        row["device"] = device_name(device)
    with (Path(folder) / "checkpointing_results.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    draw(rows, Path(folder) / "checkpointing_comparison.png")
    return rows


def measure(name, make_training, loader, device) -> dict[str, Any]:
    """Train a throw-away model for a few batches, then measure one epoch from fresh weights."""
    on_gpu = device.type == "cuda"
    model, criterion, optimizer = make_training(device)
    train_epoch_with_accumulation(model, islice(loader, 3), criterion, optimizer, device)
    saved = saved_mb(model, next(iter(loader))[0].to(device))
    model, criterion, optimizer = make_training(device)
    if on_gpu:
        torch.cuda.reset_peak_memory_stats(device)
    start = time.perf_counter()
    metrics = train_epoch_with_accumulation(model, loader, criterion, optimizer, device)
    return {
        "model": name,
        "throughput": metrics["throughput"],
        "epoch_time": time.perf_counter() - start,
        "peak_memory_mb": torch.cuda.max_memory_allocated(device) / 1e6 if on_gpu else None,
        "saved_mb": saved,
        "loss": metrics["loss"],
    }


def draw(rows, path) -> None:
    """Draw one panel for each quantity that was measured."""
    labels = {
        "throughput": "Throughput (samples/s)",
        "peak_memory_mb": "Peak memory (MB)",
        "saved_mb": "Kept for the backward pass (MB)",
    }
    labels = {column: label for column, label in labels.items() if rows[0][column] is not None}
    figure, axes = plt.subplots(1, len(labels), figsize=(4 * len(labels), 4), layout="constrained")
    for axis, (column, label) in zip(axes, labels.items(), strict=True):
        axis.bar([row["model"] for row in rows], [row[column] for row in rows])
        axis.set_ylabel(label)
    figure.savefig(path, dpi=100)
    plt.close(figure)
