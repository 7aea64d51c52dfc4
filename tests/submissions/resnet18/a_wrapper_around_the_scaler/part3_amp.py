from __future__ import annotations

import time
import typing
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
import torch

from given import device_name

if typing.TYPE_CHECKING:
    from collections.abc import Iterable


class Steps:
    """scale, unscale, clip, step and update in one place; without a scaler the middle of it remains."""

    def __init__(self, model, optimizer, scaler: torch.amp.GradScaler | None, max_grad_norm: float | None):
        self.model, self.optimizer, self.max_grad_norm = model, optimizer, max_grad_norm
        self.scaler = scaler if scaler is not None else torch.amp.GradScaler("cpu", enabled=False)

    def __call__(self, loss: torch.Tensor) -> None:
        self.optimizer.zero_grad(set_to_none=True)
        torch.autograd.backward(self.scaler.scale(loss))
        if self.max_grad_norm is not None:
            self.scaler.unscale_(self.optimizer)
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.max_grad_norm, norm_type=2.0, error_if_nonfinite=False)
        self.scaler.step(self.optimizer)
        self.scaler.update()


class Tally:
    """Losses and correct answers, kept on the device in tensors that were made beforehand."""

    def __init__(self, device: torch.device, room: int = 64):
        self.losses = torch.zeros(room, device=device)
        self.correct = torch.zeros(1, dtype=torch.long, device=device)
        self.batches = self.samples = 0

    @torch.no_grad()
    def add(self, loss: torch.Tensor, outputs: torch.Tensor, labels: torch.Tensor) -> None:
        if self.batches == len(self.losses):
            self.losses = torch.cat([self.losses, torch.zeros_like(self.losses)])
        self.losses[self.batches].copy_(loss)
        self.correct.add_(outputs.argmax(1).eq(labels).sum())
        self.batches += 1
        self.samples += labels.shape[0]


def train_epoch_amp(model, loader: Iterable, criterion, optimizer, device, use_amp=False, scaler=None, max_grad_norm=None) -> dict:
    model.train()
    step = Steps(model, optimizer, scaler if use_amp else None, max_grad_norm)
    tally = Tally(device)
    autocast = torch.autocast(device_type=device.type, enabled=bool(use_amp))  # one object, entered at every step
    data_wait = 0.0
    epoch_start = batch_start = time.perf_counter()
    for batch in loader:
        data_wait += time.perf_counter() - batch_start
        images, labels = [part.to(device, non_blocking=True) for part in batch]
        with autocast:
            outputs = model(images)
            loss = criterion(outputs, labels)
        step(loss)
        tally.add(loss, outputs, labels)
        batch_start = time.perf_counter()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    epoch_seconds = time.perf_counter() - epoch_start
    losses = tally.losses[: tally.batches]
    return {
        "losses": losses,
        "loss": losses.mean().item(),
        "accuracy": 100.0 * tally.correct.item() / tally.samples,
        "throughput": tally.samples / epoch_seconds,
        "data_wait": data_wait,
        "batches": tally.batches,
    }


def compare_precision(make_training, loader, device, folder=".") -> list[dict]:
    out = {}
    for name in ("FP32", "AMP"):
        for repeat in ("warm up", "measure"):
            model, criterion, optimizer = make_training(device)
            scaler = torch.amp.GradScaler(device.type) if name == "AMP" else None
            if device.type == "cuda":
                torch.cuda.reset_peak_memory_stats(device)
            batches = loader if repeat == "measure" else [next(iter(loader)) for _ in range(2)]
            start = time.perf_counter()
            metrics = train_epoch_amp(model, batches, criterion, optimizer, device, name == "AMP", scaler)
            seconds = time.perf_counter() - start
            model = criterion = optimizer = None
        out[name] = {
            "precision": name,
            "throughput": metrics["throughput"],
            "epoch_time": seconds,
            "peak_memory_mb": torch.cuda.max_memory_allocated(device) / 1e6 if device.type == "cuda" else None,
            "accuracy": metrics["accuracy"],
            "speedup": metrics["throughput"] / out.get("FP32", metrics)["throughput"],
            "device": device_name(device),
        }
    frame = pd.DataFrame(out.values())
    frame.to_csv(Path(folder).joinpath("amp_results.csv"), index=False)
    with plt.style.context("ggplot"):
        figure = plt.figure(figsize=(10, 4))
        for position, (column, unit) in enumerate((("throughput", "samples/s"), ("speedup", "x")), start=1):
            axis = figure.add_subplot(1, 2, position)
            axis.bar(frame["precision"].to_list(), frame[column].to_list(), bottom=0, edgecolor="black")
            axis.set(ylabel=f"{column} [{unit}]", title=f"{column} of a training epoch")
        figure.savefig(str(Path(folder).joinpath("amp_comparison.png")), bbox_inches="tight")
        plt.close(figure)
    return list(out.values())
