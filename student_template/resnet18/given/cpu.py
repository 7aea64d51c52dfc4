"""Training steps on the CPU that differ in one thing each: what a study of the CPU compares."""

from __future__ import annotations

from collections.abc import Callable

import torch

from .models import make_training

CPU_OPTIONS = ("plain", "channels_last", "bfloat16")


def make_cpu_step(option: str, batch_size: int = 8, image_size: int = 32) -> Callable[[], None]:
    """Return step(), which trains a fresh ResNet-18 on one batch, always the same, with one of CPU_OPTIONS."""
    if option not in CPU_OPTIONS:
        raise ValueError(f"option={option!r}: choose one of {', '.join(CPU_OPTIONS)}")
    net, criterion, optimizer = make_training(torch.device("cpu"))
    images = torch.randn(batch_size, 3, image_size, image_size, generator=torch.Generator().manual_seed(0))
    labels = torch.arange(batch_size) % 10
    if option == "channels_last":
        net, images = net.to(memory_format=torch.channels_last), images.to(memory_format=torch.channels_last)

    def step() -> None:
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=option == "bfloat16"):
            loss = criterion(net(images), labels)
        loss.backward()
        optimizer.step()

    return step
