"""The script to be profiled: it trains correctly, but wastes most of its time. Run, read and profile it; do not fix it.

python -m given.training_unoptimized --batches 20
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import nn, optim
from torch.utils.data import DataLoader
from torchvision import transforms

from given.net import SimpleNet
from given.photos import Photos
from given.spans import span, spanned

WARM_UP = 4  # batches


def workload(device: torch.device) -> dict[str, int]:
    """Return sizes: those of the lab on a GPU, small ones where there is none."""
    if device.type == "cuda":
        return {"image_size": 224, "width": 64}
    return {"image_size": 32, "width": 8}


def make_loader(batches: int, image_size: int) -> DataLoader[Any]:
    """Return the loader of the training set."""
    transform = transforms.Compose(
        [
            transforms.Resize((image_size, image_size)),
            transforms.ToTensor(),
            transforms.Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5)),
        ]
    )
    batch_size = 32
    return DataLoader(
        Photos(batches * batch_size, transform=transform),
        batch_size,
        shuffle=True,
        num_workers=0,
        pin_memory=False,
    )


def prepare(device: torch.device, batches: int) -> dict[str, Any]:
    """Return what `train_epoch` is called with: a fresh model and its data."""
    size = workload(device)
    model = SimpleNet(size["width"]).to(device)
    return {
        "model": model,
        "loader": make_loader(batches, size["image_size"]),
        "criterion": nn.CrossEntropyLoss(),
        "optimizer": optim.SGD(model.parameters(), lr=0.05, momentum=0.9),
        "device": device,
    }


def synchronize(device: torch.device) -> None:
    """Wait until the device has done everything."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def train_epoch(model, loader, criterion, optimizer, device, on_step=None) -> list[float]:
    """Train for one epoch and return the loss of each batch; *on_step* is called at the end of each."""
    model.train()
    losses = []
    for batch, (images, labels) in enumerate(spanned(loader)):
        with span("copy"):
            images = images.to(device)
            labels = labels.to(device)
        synchronize(device)

        with span("forward"):
            loss = criterion(model(images), labels)
        with span("backward"):
            optimizer.zero_grad()
            loss.backward()
        with span("optimizer_step"):
            optimizer.step()
        synchronize(device)

        losses.append(loss.item())
        if batch % 10 == 0:
            print(f"batch {batch}, loss {loss.item():.4f}")
        if on_step is not None:
            on_step()
    return losses


def train(on_step: Callable[[], Any] | None = None, batches: int = 20) -> list[float]:
    """Train a fresh network for so many batches; return the loss of each."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return train_epoch(**prepare(device, batches), on_step=on_step)


def main() -> None:
    """Warm up, train between cudaProfilerStart and cudaProfilerStop, and say how fast that was."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--batches", type=int, default=20)
    batches = parser.parse_args().batches
    torch.set_num_threads(1)  # on a CPU, more of them wait for each other
    train(batches=WARM_UP)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    training = prepare(device, batches)

    if device.type == "cuda":
        torch.cuda.profiler.start()
    start, cpu = time.perf_counter(), time.process_time()
    losses = train_epoch(**training)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    if device.type == "cuda":
        torch.cuda.profiler.stop()
    rate = len(training["loader"].dataset) / seconds
    print(f"{device}: loss {losses[-1]:.3f}, {rate:.1f} samples/s, {cpu / seconds:.2f} CPUs busy")


if __name__ == "__main__":
    main()
