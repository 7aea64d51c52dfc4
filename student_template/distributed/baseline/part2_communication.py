"""Slow or plain versions: they show what the functions do, and not yet what they have to be."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import torch
import torch.distributed as dist
from torch import Tensor, nn

from given import device_name

__all__ = ["advise", "fit_link", "measure_communication", "measure_link", "sent_bytes"]


def measure_communication(
    model: nn.Module,
    batch: tuple[Tensor, Tensor],
    criterion: Callable[..., Tensor],
    steps: int = 21,
    warmup: int = 3,
) -> dict[str, float]:
    """Call the difference of two steps of this rank "communication time"."""
    start = time.perf_counter()
    criterion(model(batch[0]), batch[1]).backward()
    between = time.perf_counter()
    with model.no_sync():
        criterion(model(batch[0]), batch[1]).backward()
    step_ms, compute_ms = 1e3 * (between - start), 1e3 * (time.perf_counter() - between)
    communication = step_ms - compute_ms
    return {
        "step_ms": step_ms,
        "compute_ms": compute_ms,
        "total_ms": communication,
        "exposed_ms": communication,
        "exposed_percent": 100 * communication / step_ms,
        "hidden_percent": 0.0,
        "collectives": 1,
        "bytes": sum(4 * it.numel() for it in model.parameters()),
    }


def measure_link(sizes: Sequence[int], repeats: int = 9, folder: str = ".") -> list[dict[str, Any]]:
    """Time one call of each size, and let every rank write."""
    rows = []
    for size in sizes:
        start = time.perf_counter()
        dist.all_reduce(torch.zeros(size // 4))
        seconds = time.perf_counter() - start
        name = device_name(torch.device("cpu"))
        rows.append({"bytes": size, "ms": 1e3 * seconds, "bus_gb_s": size / seconds / 1e9, "device": name})
    pd.DataFrame(rows).to_csv(Path(folder) / "allreduce_times.csv", index=False)
    return rows


def fit_link(rows: Sequence[Mapping[str, Any]]) -> tuple[float, float]:
    """Take the smallest size for the latency, and the largest for the bandwidth."""
    return float(rows[0]["ms"]), float(rows[-1]["bytes"] / rows[-1]["ms"])


def sent_bytes(operation: str, nbytes: int, processes: int) -> float:
    """Let every rank send the whole tensor to each of the others."""
    return float(nbytes * (processes - 1))


def advise(figures: Mapping[str, float], latency_ms: float) -> str:
    """Give one advice for everything."""
    return "overlap"
