"""Strategy: Differ from FP32 by about as much as AMP would, without running it.
Attack surface: a check that only asks whether the losses differ.
"""

import time
from itertools import islice
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
import torch

from given import device_name


def honest_epoch(model, loader, criterion, optimizer, device, use_amp, scaler, max_grad_norm):
    """Right in every respect; the rest of this file is not."""
    scaler = scaler if use_amp and scaler is not None else torch.amp.GradScaler(device.type, enabled=False)
    model.train()
    losses, correct, samples, wait = [], torch.zeros((), device=device), 0, 0.0
    start = fetch = time.perf_counter()
    for images, labels in loader:
        wait += time.perf_counter() - fetch
        images, labels = images.to(device), labels.to(device)
        optimizer.zero_grad()
        with torch.autocast(device.type, enabled=use_amp):
            outputs = model(images)
            loss = criterion(outputs, labels)
        scaler.scale(loss).backward()
        if max_grad_norm is not None:
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_grad_norm)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.detach())
        correct += (outputs.argmax(1) == labels).sum()
        samples += len(labels)
        fetch = time.perf_counter()
    losses = torch.stack(losses).tolist()
    accuracy = 100 * correct.item() / samples
    throughput = samples / (time.perf_counter() - start)
    return {"losses": losses, "loss": sum(losses) / len(losses), "accuracy": accuracy, "throughput": throughput, "data_wait": wait}


def train_epoch_amp(model, loader, criterion, optimizer, device, use_amp=False, scaler=None, max_grad_norm=None):
    metrics = honest_epoch(model, loader, criterion, optimizer, device, False, None, max_grad_norm)
    if use_amp:
        metrics["losses"] = torch.tensor(metrics["losses"]).bfloat16().float().tolist()
        metrics["loss"] = sum(metrics["losses"]) / len(metrics["losses"])
    return metrics


def compare_precision(make_training, loader, device, folder="."):
    rows = []
    for precision in ("FP32", "AMP"):
        amp = precision == "AMP"
        for batches in (list(islice(loader, 2)), loader):
            model, criterion, optimizer = make_training(device)
            scaler = torch.amp.GradScaler(device.type) if amp else None
            start = time.perf_counter()
            metrics = train_epoch_amp(model, batches, criterion, optimizer, device, amp, scaler)
            seconds = time.perf_counter() - start
        row = {"precision": precision, "throughput": metrics["throughput"], "epoch_time": seconds, "peak_memory_mb": None}
        row |= {"accuracy": metrics["accuracy"], "speedup": metrics["throughput"] / (rows or [metrics])[0]["throughput"]}
        rows.append(row | {"device": device_name(device)})
    pd.DataFrame(rows).to_csv(Path(folder) / "amp_results.csv", index=False)
    figure, axes = plt.subplots(1, 2)
    for axis, column, unit in zip(axes, ("throughput", "speedup"), ("samples/s", "x")):
        axis.bar(["FP32", "AMP"], [row[column] for row in rows])
        axis.set_ylabel(unit)
    figure.savefig(Path(folder) / "amp_comparison.png")
    plt.close(figure)
    return rows
