"""A model with fresh weights, its loss and its optimizer; and the name of the device."""

from __future__ import annotations

import platform
from pathlib import Path

import torch
from torch import nn
from torchvision import models

from .data import CLASSES

LEARNING_RATE = 0.01


def make_training(
    device: torch.device, model: str = "resnet18", seed: int = 0
) -> tuple[nn.Module, nn.Module, torch.optim.Optimizer]:
    """Return (model, criterion, optimizer) on *device*; the same seed gives the same fresh weights."""
    with torch.random.fork_rng(devices=[]):  # leaves your own random numbers as they were
        torch.default_generator.manual_seed(seed)
        net = models.get_model(model, weights=None, num_classes=CLASSES)
    net = net.to(device)
    return net, nn.CrossEntropyLoss(), torch.optim.SGD(net.parameters(), lr=LEARNING_RATE, momentum=0.9)


def device_name(device: torch.device) -> str:
    """Return the name of the GPU or of the CPU."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return _cpu_name() or platform.processor() or platform.machine()


def _cpu_name() -> str:
    info = Path("/proc/cpuinfo")  # Linux only; elsewhere `platform` knows the name
    lines = info.read_text().splitlines() if info.exists() else []
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "")
