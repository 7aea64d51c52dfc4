"""Part 5 before the work: nothing is compiled, and SpikeGuard breaks every graph that it is in.

Yours is compared with it: the same numbers, whether they are computed one operation at a time or by a graph.
"""

from __future__ import annotations

import csv
import time
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import torch
from torch import nn

from given import device_name


class SpikeGuard(nn.Module):
    """Scale a batch down whose mean absolute value is above a limit, so that it is the limit; count such batches."""

    def __init__(self, limit=4.0) -> None:
        """Begin to count."""
        super().__init__()
        self.limit, self.spikes = limit, 0

    def forward(self, x) -> torch.Tensor:
        """Bring a number to Python, and decide there."""
        size = x.abs().mean().item()  # the graph ends here ...
        if size > self.limit:  # ... since Python has to know what to do next
            self.spikes += 1
            x = x * (self.limit / size)
        return x


def compile_model(model, backend="inductor") -> Any:
    """Leave it as it is."""
    return model


def train_epoch_compiled(model, loader, criterion, optimizer, device, use_amp=False) -> dict[str, Any]:
    """Train for one epoch."""
    model.train()
    losses, sizes, correct, data_wait = [], [], 0, 0.0
    start = fetch = time.perf_counter()
    for images, labels in loader:
        data_wait += time.perf_counter() - fetch
        images, labels = images.to(device), labels.to(device)
        optimizer.zero_grad()
        with torch.autocast(device.type, torch.bfloat16, enabled=use_amp):
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


def warm_up(model, loader, criterion, optimizer, device, use_amp=False) -> None:
    """Do nothing: there is nothing to build."""


def compare_compile(
    make_training, loader, device, folder=".", backend="inductor", use_amp=False
) -> list[dict[str, Any]]:
    """Measure the same epoch under both names."""
    rows: list[dict[str, Any]] = []
    for name in ("Eager", "Compiled"):
        model, criterion, optimizer = make_training(device)
        start = time.perf_counter()
        metrics = train_epoch_compiled(model, loader, criterion, optimizer, device, use_amp)
        row = {"model": name, "throughput": metrics["throughput"], "epoch_time": time.perf_counter() - start}
        row |= {"compile_s": 0.0, "loss": metrics["loss"]}
        row["speedup"] = row["throughput"] / (rows[0] if rows else row)["throughput"]
        rows.append({**row, "device": device_name(device)})
    with (Path(folder) / "compile_results.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    draw(rows, Path(folder) / "compile_comparison.png")
    return rows


def draw(rows, path) -> None:
    """Draw one panel for each quantity."""
    labels = {"throughput": "Throughput (samples/s)", "compile_s": "Cold start (s)"}
    figure, axes = plt.subplots(1, 2, figsize=(8, 4), layout="constrained")
    for axis, (column, label) in zip(axes, labels.items(), strict=True):
        axis.bar([row["model"] for row in rows], [row[column] for row in rows])
        axis.set_ylabel(label)
    figure.savefig(path, dpi=100)
    plt.close(figure)
