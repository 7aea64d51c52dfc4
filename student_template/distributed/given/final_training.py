"""What train_distributed.py trains: its options, the model and the data, and how a profile of it is written."""

from __future__ import annotations

import argparse
import os
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.profiler import profile, schedule
from torch.utils.data import Dataset

CLASSES = 10
PIXELS = 32
TEST_SAMPLES = 501  # an odd number: two processes cannot have equal shares of it
PASSED_OVER, RECORDED = 2, 3  # steps


def read_options(argv: list[str] | None = None) -> argparse.Namespace:
    """Read the command line of train_distributed.py."""
    parser = argparse.ArgumentParser(description="Train as one process of a group that torchrun started.")
    parser.add_argument("--amp", action="store_true", help="mixed precision, in bfloat16")
    parser.add_argument("--accumulate", type=int, default=1, metavar="K", help="so many batches are one step")
    parser.add_argument("--workers", type=int, default=0, help="processes that load data for each process")
    parser.add_argument("--samples", type=int, default=1280, help="of an epoch, of all processes together")
    parser.add_argument("--batch-size", type=int, default=32, help="of each process, in one pass")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--result", metavar="FILE", help="rank 0 writes the numbers there")
    parser.add_argument("--profile", metavar="FILE", help="record one more epoch; rank 0 writes its trace there")
    options = parser.parse_args(argv)
    step = int(os.environ.get("WORLD_SIZE", "1")) * options.batch_size * options.accumulate
    if min(step, options.samples, options.epochs) < 1 or options.samples % step:
        parser.error(f"an epoch is made of whole steps: {options.samples} samples do not divide into steps of {step}")
    return options


class Pictures(Dataset[tuple[Tensor, int]]):
    """Pictures of a class each, with noise, which are shrunk each time one is asked for."""

    def __init__(self, samples: int, first: int = 0) -> None:
        """Have so many; *first* is the number of the first one, and each number has a picture of its own."""
        self._samples, self._first = samples, first
        self._classes = torch.randn(CLASSES, 3, PIXELS, PIXELS, generator=torch.Generator().manual_seed(1))

    def __len__(self) -> int:
        """Return how many there are."""
        return self._samples

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        """Make a picture: large noise, shrunk, on top of its class."""
        if not 0 <= index < self._samples:
            raise IndexError(index)
        number = self._first + index
        noise = torch.randn(3, 4 * PIXELS, 4 * PIXELS, generator=torch.Generator().manual_seed(number))
        small = functional.avg_pool2d(noise, 4)
        label = number % CLASSES
        return 0.35 * self._classes[label] + 4 * small, label


def make_datasets(samples: int) -> tuple[Pictures, Pictures]:
    """Return so many pictures to train on, and others to test with."""
    return Pictures(samples), Pictures(TEST_SAMPLES, first=1_000_000)


def make_training(device: torch.device) -> tuple[nn.Module, nn.Module, torch.optim.Optimizer]:
    """Return model, criterion and optimizer; each process of a group begins with other weights."""
    width = 64 if device.type == "cuda" else 16
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(os.environ.get("RANK", "0")))
        model = nn.Sequential(
            nn.Conv2d(3, width, 3, padding=1),
            nn.GroupNorm(4, width),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(width, 2 * width, 3, padding=1),
            nn.GroupNorm(4, 2 * width),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(8),
            nn.Flatten(),
            nn.Linear(128 * width, CLASSES),
        ).to(device)
    return model, nn.CrossEntropyLoss(), torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)


def peak_mb(device: torch.device) -> float:
    """Return the most MB (1e6 bytes) that this process has held: of its GPU, or of its own without one."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


@contextmanager
def profiled(file: str) -> Iterator[Callable[[], Any]]:
    """Yield a function to be called after each step; the process of rank 0 writes the trace of three of them.

    The first two are passed over. All processes have to take the same steps.
    """
    if os.environ.get("RANK", "0") != "0":
        yield lambda: None
        return
    plan = schedule(wait=PASSED_OVER - 1, warmup=1, active=RECORDED, repeat=1)
    with profile(schedule=plan, record_shapes=True, on_trace_ready=lambda it: it.export_chrome_trace(file)) as recorder:
        yield recorder.step
