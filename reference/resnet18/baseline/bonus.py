"""Quick answers to the bonus challenges: they run, and each leaves out what its challenge is about."""

from __future__ import annotations

import functools
import os
import resource
import time
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
import torch
from torch.utils.data import DataLoader

from given import CPU_OPTIONS, device_name


def plan_memory(make_training, batch_size, image_size) -> dict[str, int]:
    """Train on a real batch, and see by how much the process grew: all or nothing, if it does not fit."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    model, criterion, optimizer = make_training()
    images, labels = torch.randn(batch_size, 3, image_size, image_size), torch.zeros(batch_size, dtype=torch.int64)
    criterion(model(images), labels).backward()
    optimizer.step()
    return {"total": 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)}


def largest_batch(make_training, image_size, budget) -> int:
    """Try larger and larger batches."""
    batch_size = 2
    while plan_memory(make_training, batch_size, image_size)["total"] <= budget:
        batch_size *= 2
    return batch_size // 2


def timed(function=None, *, synchronize=None):
    """Note how long each call takes."""
    if function is None:
        return functools.partial(timed, synchronize=synchronize)

    def measured(*args, **kwargs):
        start = time.perf_counter()
        result = function(*args, **kwargs)
        measured.seconds.append(time.perf_counter() - start)
        return result

    measured.seconds = []
    return measured


def profile_calls(function, *args, **kwargs) -> tuple[Any, list[dict[str, Any]]]:
    """Time the whole."""
    start = time.perf_counter()
    result = function(*args, **kwargs)
    seconds = time.perf_counter() - start
    return result, [{"function": function.__name__, "calls": 1, "own_seconds": seconds, "seconds": seconds}]


def time_lines(function, *args, **kwargs) -> tuple[Any, list[dict[str, Any]]]:
    """Time the whole, and say that it was the first line."""
    result, rows = profile_calls(function, *args, **kwargs)
    return result, [{"line": function.__code__.co_firstlineno, "hits": 1, "seconds": rows[0]["seconds"]}]


def study_cpu(make_step, threads, folder=".") -> list[dict[str, Any]]:
    """Time one call of each, the first."""
    rows: list[dict[str, Any]] = []
    for option in CPU_OPTIONS:
        for count in threads:
            torch.set_num_threads(count)
            start = time.perf_counter()
            make_step(option)()
            ms = 1000 * (time.perf_counter() - start)
            speedup = rows[0]["ms"] / ms if rows else 1.0
            device = device_name(torch.device("cpu"))
            rows.append({"option": option, "threads": count, "ms": ms, "speedup": speedup, "device": device})
    pd.DataFrame(rows).to_csv(Path(folder) / "cpu_study.csv", index=False)
    plt.bar([f"{row['option']} {row['threads']}" for row in rows], [row["ms"] for row in rows])
    plt.savefig(Path(folder) / "cpu_threads.png")
    return rows


def train_distributed(
    model, dataset, criterion, make_optimizer, batch_size, epochs, seed=0, folder="."
) -> dict[str, Any]:
    """Train in one process, however many there are: each does all the work."""
    optimizer, losses = make_optimizer(model.parameters()), []
    loader = DataLoader(dataset, batch_size * int(os.environ.get("WORLD_SIZE", "1")), shuffle=True)
    for _ in range(epochs):
        total = 0.0
        for images, labels in loader:
            optimizer.zero_grad()
            loss = criterion(model(images), labels)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(labels)
        losses.append(total / len(dataset))
    torch.save(model.state_dict(), Path(folder) / "weights.pt")
    return {"losses": losses}
