from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

import pandas as pd
import torch
from matplotlib.figure import Figure
from torch import Tensor, nn

from given import device_name


@dataclass
class Epoch:
    model: nn.Module
    criterion: nn.Module
    optimizer: torch.optim.Optimizer
    device: torch.device
    use_amp: bool
    scaler: torch.amp.GradScaler | None
    max_grad_norm: float | None
    losses: list[Tensor] = field(default_factory=list)
    correct: list[Tensor] = field(default_factory=list)
    samples: int = 0
    waited: float = 0.0

    def run(self, loader) -> dict:
        self.model.train()
        began = time.perf_counter()
        for images, labels in self.watched(loader):
            self.step(images.to(self.device), labels.to(self.device))
        losses = torch.stack(self.losses).cpu().tolist()
        right = int(torch.stack(self.correct).sum())
        seconds = time.perf_counter() - began
        return {
            "loss": sum(losses) / len(losses),
            "losses": losses,
            "throughput": self.samples / seconds,
            "accuracy": right / self.samples * 100,
            "data_wait": self.waited,
        }

    def watched(self, loader):
        """Yield the batches, adding up how long each was waited for."""
        asked = time.perf_counter()
        for batch in loader:
            self.waited += time.perf_counter() - asked
            yield batch
            asked = time.perf_counter()

    def step(self, images: Tensor, labels: Tensor) -> None:
        outputs, loss = self.forward(images, labels)
        self.optimizer.zero_grad(set_to_none=False)
        self.backward(loss)
        self.losses.append(loss.detach())
        self.correct.append(torch.eq(outputs.argmax(-1), labels).sum())
        self.samples += images.shape[0]

    def forward(self, images, labels):
        if not self.use_amp:
            outputs = self.model(images)
            return outputs.detach(), self.criterion(outputs, labels)
        with torch.amp.autocast(self.device.type):
            outputs = self.model(images)
            return outputs.detach(), self.criterion(outputs, labels)

    def backward(self, loss: Tensor) -> None:
        if self.use_amp and self.scaler is not None and self.scaler.is_enabled():
            self.scaler.scale(loss).backward()
            self.scaler.unscale_(self.optimizer)  # also without clipping: it does no harm
            self.clip()
            self.scaler.step(self.optimizer)
            self.scaler.update()
        else:
            loss.backward()
            self.clip()
            self.optimizer.step()

    def clip(self) -> None:
        if self.max_grad_norm is None:
            return
        grads = [p.grad for p in self.model.parameters() if p.grad is not None]
        norm = torch.nn.utils.get_total_norm(grads)
        torch.nn.utils.clip_grads_with_norm_(self.model.parameters(), self.max_grad_norm, norm)


@dataclass
class Row:
    precision: str
    throughput: float
    epoch_time: float
    peak_memory_mb: float | None
    accuracy: float
    speedup: float
    device: str


def train_epoch_amp(model, loader, criterion, optimizer, device, use_amp=False, scaler=None, max_grad_norm=None) -> dict:
    return Epoch(model, criterion, optimizer, device, use_amp, scaler, max_grad_norm).run(loader)


def compare_precision(make_training, loader, device, folder=".") -> list[dict]:
    fp32 = row_of("FP32", make_training, loader, device)
    amp = row_of("AMP", make_training, loader, device)
    amp.speedup = amp.throughput / fp32.throughput
    rows = [asdict(fp32), asdict(amp)]
    pd.DataFrame.from_records(rows).to_csv(Path(folder, "amp_results.csv"), index=None)
    draw(rows).savefig(Path(folder, "amp_comparison.png"))
    return rows


def row_of(precision: str, make_training, loader, device) -> Row:
    gpu = device.type == "cuda"

    def epoch(batches) -> dict:
        scaler = torch.amp.GradScaler(device.type) if precision == "AMP" else None
        return Epoch(*make_training(device), device, precision == "AMP", scaler, None).run(batches)

    first_three = []
    for batch in loader:
        first_three.append(batch)
        if len(first_three) == 3:
            break
    epoch(first_three)
    if gpu:
        torch.cuda.reset_peak_memory_stats()
    metrics = epoch(loader)
    samples = sum(len(labels) for _, labels in loader)
    peak = torch.cuda.max_memory_allocated() / 1e6 if gpu else None
    return Row(precision, metrics["throughput"], samples / metrics["throughput"], peak, metrics["accuracy"], 1.0, device_name(device))


def draw(rows) -> Figure:
    figure = Figure(figsize=(8, 4))
    left, right = figure.subplots(1, 2)
    left.bar([0, 1], [row["throughput"] for row in rows], tick_label=["FP32", "AMP"])
    left.set_ylabel("samples per second")
    right.bar([0, 1], [row["speedup"] for row in rows], tick_label=["FP32", "AMP"])
    right.set_ylabel("speedup (x)")
    return figure
