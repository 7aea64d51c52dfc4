import time
from contextlib import ExitStack, nullcontext
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch

from given import device_name


class Stopwatch:
    """Adds up the time between entering and leaving."""

    def __init__(self):
        self.seconds = 0.0

    def __enter__(self):
        self._since = time.perf_counter()
        return self

    def __exit__(self, *_):
        self.seconds += time.perf_counter() - self._since


class Waiting:
    """An iterator that knows how long its consumer waited."""

    def __init__(self, loader):
        self.watch = Stopwatch()
        with self.watch:
            self._batches = iter(loader)

    def __iter__(self):
        return self

    def __next__(self):
        with self.watch:
            return next(self._batches)


def train_epoch_amp(model, loader, criterion, optimizer, device, use_amp=False, scaler=None, max_grad_norm=None):
    half = (lambda: torch.autocast(device.type, cache_enabled=True)) if use_amp else nullcontext
    scaler = scaler if use_amp else None
    steps = []
    with Stopwatch() as whole:
        batches = Waiting(loader)
        model.train()
        for images, labels in batches:
            images, labels = images.to(device), labels.to(device)
            with ExitStack() as stack:
                stack.enter_context(half())
                outputs = model(images)
                loss = criterion(outputs, labels)
            optimizer.zero_grad()
            if scaler is not None:
                loss_to_use = scaler.scale(loss)
            else:
                loss_to_use = loss
            loss_to_use.backward()
            if max_grad_norm is not None:
                if scaler is not None:
                    scaler.unscale_(optimizer)
                total = torch.linalg.vector_norm(torch.stack([p.grad.norm() for p in model.parameters() if p.grad is not None]))
                factor = (max_grad_norm / (total + 1e-6)).clamp(max=1.0)
                for p in model.parameters():
                    if p.grad is not None:
                        p.grad.mul_(factor)
            if scaler is not None:
                scaler.step(optimizer)
                scaler.update()
            else:
                optimizer.step()
            with torch.no_grad():
                right = (outputs.float().softmax(1).argmax(1) == labels).sum()
                steps.append(torch.stack([loss.detach().double(), right.double(), torch.full_like(right, len(labels)).double()]))
        losses, right, sizes = np.asarray(torch.stack(steps).cpu()).T
    return {
        "losses": losses.tolist(),
        "loss": float(np.average(losses, weights=sizes)),
        "accuracy": float(right.sum() / sizes.sum() * 100),
        "throughput": float(sizes.sum() / whole.seconds),
        "data_wait": batches.watch.seconds,
    }


def compare_precision(make_training, loader, device, folder="."):
    def epoch(amp, batches):
        model, criterion, optimizer = make_training(device)
        scaler = torch.amp.GradScaler(device.type, init_scale=2.0**10) if amp else None
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(device)
        with Stopwatch() as watch:
            metrics = train_epoch_amp(model, batches, criterion, optimizer, device, use_amp=amp, scaler=scaler)
        peak = torch.cuda.max_memory_allocated(device) / 1e6 if device.type == "cuda" else None
        return {
            "throughput": metrics["throughput"],
            "epoch_time": watch.seconds,
            "peak_memory_mb": peak,
            "accuracy": metrics["accuracy"],
        }

    few = [batch for batch, _ in zip(loader, "123")]
    epoch(False, few)
    fp32 = epoch(False, loader)
    epoch(True, few)
    amp = epoch(True, loader)
    rows = [
        {"precision": "FP32", **fp32, "speedup": 1.0, "device": device_name(device)},
        {"precision": "AMP", **amp, "speedup": amp["throughput"] / fp32["throughput"], "device": device_name(device)},
    ]
    folder = Path(folder)
    lines = [",".join(rows[0])] + [",".join("" if value is None else str(value) for value in row.values()) for row in rows]
    (folder / "amp_results.csv").write_text("\r\n".join(lines) + "\r\n")
    frame = pd.read_csv(folder / "amp_results.csv")
    figure, axes = plt.subplots(3, 1, figsize=(6, 9))
    for axis, column, unit in zip(axes, ("throughput", "peak_memory_mb", "speedup"), ("samples/s", "MB", "relative to FP32")):
        axis.bar(frame.precision, frame[column])
        axis.set_ylabel(f"{column} ({unit})")
    figure.savefig(folder / "amp_comparison.png")
    plt.close(figure)
    return rows
