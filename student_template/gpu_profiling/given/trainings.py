"""What the trainings that part 6 compares have in common: options, photos, first weights, and a profile at the end."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.profiler import profile, schedule
from torchvision import transforms

from .net import SimpleNet
from .photos import Photos


def sizes(device: torch.device) -> dict[str, int]:
    """Return the sizes of a training: pixels a side, channels, samples of an epoch and of a step."""
    if device.type == "cuda":
        return {"image_size": 224, "width": 64, "samples": 8192, "step": 256}
    return {"image_size": 32, "width": 8, "samples": 1280, "step": 128}


def read_options(argv: list[str] | None = None) -> argparse.Namespace:
    """Read the command line; what cannot be done is a usage error: one line that says why, and exit status 2."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    usual = sizes(device)
    parser = argparse.ArgumentParser(description="Train a SimpleNet, and print what it took as one line of JSON.")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--samples", type=int, default=usual["samples"], help="of an epoch")
    parser.add_argument("--step", type=int, default=usual["step"], help="samples of one step of the optimizer")
    parser.add_argument("--batch-size", type=int, default=32, help="samples at once; 0: as many as fit")
    parser.add_argument("--workers", type=int, default=0, help="processes that load data")
    parser.add_argument("--amp", action="store_true", help="mixed precision")
    parser.add_argument("--compile", action="store_true", help="the whole network as one graph")
    parser.add_argument("--backend", default="inductor", help="of torch.compile")
    parser.add_argument("--profile", metavar="FILE", help="record one more epoch, and write its profile there")
    options = parser.parse_args(argv)
    if min(options.epochs, options.samples, options.step) < 1 or options.samples % options.step:
        parser.error("at least one epoch, of whole steps: --samples is a multiple of --step")
    if options.batch_size < 0 or (options.batch_size and options.step % options.batch_size):
        parser.error("a step is made of whole batches: --step is a multiple of --batch-size")
    options.device = device
    return options


def make_photos(samples: int) -> Photos:
    """Return the training set: photos that are decoded, shrunk and normalised each time one is asked for."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    side = sizes(device)["image_size"]
    normalise = transforms.Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))
    return Photos(
        samples, transform=transforms.Compose([transforms.Resize((side, side)), transforms.ToTensor(), normalise])
    )


def make_training(device: torch.device) -> tuple[nn.Module, nn.Module, torch.optim.Optimizer]:
    """Return model, criterion and optimizer; the first weights are the same at each call."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = SimpleNet(sizes(device)["width"]).to(device)
    return model, nn.CrossEntropyLoss(), torch.optim.Adam(model.parameters(), lr=2e-3)


def record(train: Callable[[Callable[[], Any]], Any], file: str, batches: int, skip: int = 0) -> None:
    """Call train(on_step), which must call on_step() after each batch, and write a profile of so many *batches*.

    The first *skip* batches are left out.

    Nothing has to be skipped of a training that has run before.
    """

    def write(prof: Any) -> None:
        prof.export_chrome_trace(file)

    plan = schedule(wait=max(skip - 1, 0), warmup=min(skip, 1), active=batches, repeat=1)
    with profile(schedule=plan, on_trace_ready=write) as prof:
        train(prof.step)
