"""Slow or plain versions: they show what the functions do, and not yet what they have to be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from torch.profiler import profile

__all__ = ["profile_rank", "summarise", "waiting"]


def profile_rank(
    step: Callable[[], Any],
    steps: int,
    folder: str,
    rank: int,
    wait: int = 1,
    warmup: int = 2,
    active: int = 3,
) -> Path:
    """Record every step in one file, whichever process this is."""
    file = Path(folder) / "trace.json.gz"
    with profile() as prof:
        for _ in range(steps):
            step()
    prof.export_chrome_trace(str(file))
    return file


def summarise(events: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Add up durations, and take the operators with the most time in all."""
    total: Counter[str] = Counter()
    sums: Counter[str] = Counter()
    for event in events:
        if event.get("cat") == "cpu_op":
            total[event["name"]] += event["dur"]
            sums["communication" if event["name"].startswith("c10d::") else "compute"] += event["dur"] / 1000
        elif event.get("name", "").startswith("ProfilerStep#"):
            sums["steps"] += event["dur"] / 1000
    return {
        "top_operators": [name for name, _ in total.most_common(5)],
        "step_ms": sums["steps"],
        "compute_ms": sums["compute"],
        "communication_ms": sums["communication"],
        "exposed_ms": sums["communication"],
        "utilization_percent": 0.0,
    }


def waiting(traces: Mapping[int, Sequence[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Take the durations of each rank for the time of the transfers."""
    rows = []
    for rank, events in traces.items():
        own = sum(it["dur"] / 1000 for it in events if it.get("name", "").startswith("gloo:"))
        rows.append({"rank": rank, "communication_ms": own, "transfer_ms": own, "waiting_ms": 0.0})
    return rows
