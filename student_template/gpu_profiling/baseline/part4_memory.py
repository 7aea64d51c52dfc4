"""Part 4 before the work: everything is kept, in FP32; and a measurement of forward passes, as the original lab had it.

Yours is compared with its outputs.
"""

from __future__ import annotations

import csv
import time
from pathlib import Path
from typing import Any

import torch
from torch import nn

from given import device_name, saved_mb

COLUMNS = ["net", "batch_size", "precision", "peak_memory_mb", "saved_mb", "throughput", "device"]


class MemoryEfficientNet(nn.Module):
    """The SimpleNet as it is."""

    def __init__(self, simple) -> None:
        """Hold it."""
        super().__init__()
        self.simple = simple

    def forward(self, x) -> torch.Tensor:
        """Run it."""
        return self.simple(x)


def train_with_amp(model, loader, criterion, optimizer, device, scaler=None) -> list[float]:
    """Train for one epoch in FP32."""
    model.train()
    losses = []
    for images, labels in loader:
        images, labels = images.to(device), labels.to(device)
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def measure_memory_and_speed(
    make_training, batch_size, device, use_amp=False, image_size=224, classes=10, steps=10
) -> dict[str, Any]:
    """Measure forward passes: the graph that they build is never used."""
    images = torch.randn(batch_size, 3, image_size, image_size, device=device)
    with torch.autocast(device.type, enabled=use_amp):
        saved = saved_mb(make_training(device)[0], images)
    model, _, _ = make_training(device)
    start = time.perf_counter()
    for _ in range(steps):
        with torch.autocast(device.type, enabled=use_amp):
            _ = model(images)
    seconds = time.perf_counter() - start
    return {"peak_memory_mb": None, "saved_mb": saved, "throughput": batch_size * steps / seconds}


def benchmark_memory(nets, batch_sizes, device, folder=".", **options) -> list[dict[str, Any]]:
    """Measure each net at each batch size in both precisions."""
    rows = []
    for name, make_training in nets.items():
        for batch_size in batch_sizes:
            for precision in ("FP32", "AMP"):
                seen = measure_memory_and_speed(make_training, batch_size, device, precision == "AMP", **options)
                place = {"net": name, "batch_size": batch_size, "precision": precision}
                rows.append({**place, **seen, "device": device_name(device)})
    with (Path(folder) / "memory_results.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    return rows
