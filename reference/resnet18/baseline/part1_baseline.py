"""Part 1 before the work: it trains right. No augmentation, no CIFAR-10, a clock that misses time, nothing profiled.

Yours is compared with its losses and weights. Read it for its mistakes. For example, the throughput that
`train_epoch` returns is the same whether or not the data set sleeps for each sample.
"""

from __future__ import annotations

import time
from itertools import islice
from pathlib import Path
from typing import Any

from torchvision import models, transforms

from given import Pictures, load_events


def make_transforms(image_size=32):
    """Resize the whole picture, the same way each time."""
    return transforms.Compose([transforms.Resize((image_size, image_size)), transforms.ToTensor()])


def make_data(data="auto", image_size=32, folder="data"):
    """Return the synthetic set, whatever is asked for."""
    return Pictures(transform=make_transforms(image_size))


def make_model(weights=None, classes=10):
    """Return a ResNet-18 with fresh weights, whatever is asked for."""
    return models.resnet18(weights=None, num_classes=classes)


def train_epoch(model, loader, criterion, optimizer, device) -> dict[str, Any]:
    """Train for one epoch; the clock misses the wait for data, and the host waits for the device twice a step."""
    model.train()
    losses, correct, samples, seconds = [], 0, 0, 0.0
    for images, labels in loader:
        start = time.perf_counter()
        images, labels = images.to(device), labels.to(device)
        optimizer.zero_grad()
        outputs = model(images)
        loss = criterion(outputs, labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        correct += (outputs.argmax(dim=1) == labels).sum().item()
        samples += len(labels)
        seconds += time.perf_counter() - start
        if len(losses) % 50 == 0:
            print(f"batch {len(losses)}: loss {loss.item():.4f}")
    return {
        "losses": losses,
        "loss": sum(losses) / len(losses),
        "accuracy": 100 * correct / samples,
        "throughput": samples / seconds,
        "data_wait": 0.0,
    }


def profile_training(model, loader, criterion, optimizer, device, folder=".") -> None:
    """Train on 12 batches and write the seconds that they took."""
    start = time.perf_counter()
    train_epoch(model, list(islice(loader, 12)), criterion, optimizer, device)
    (Path(folder) / "seconds.txt").write_text(f"{time.perf_counter() - start}\n", encoding="utf-8")


def analyse_trace(file) -> dict[str, Any]:
    """Add up the durations of kernels, overlapping or not, in a trace of any length."""
    kernels = [event for event in load_events(file) if event.category == "kernel"]
    return {"kernels_ms": sum(kernel.end - kernel.start for kernel in kernels) / 1000}
