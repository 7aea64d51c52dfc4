"""Slow or plain versions: they show what the functions do, and not yet what they have to be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from torch.profiler import profile

__all__ = ["make_handler", "own_times", "profile_cycles"]


def own_times(events: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return how often each operator ran and how long it took, with all that it called."""
    frame = pd.DataFrame([it for it in events if it.get("cat") == "cpu_op"], columns=["name", "dur"])
    table = frame.groupby("name").dur.agg(["count", "sum"]).sort_values("sum", ascending=False)
    return [
        {"operator": name, "calls": int(row["count"]), "total_us": row["sum"], "own_us": row["sum"]}
        for name, row in table.iterrows()
    ]


def make_handler(folder: str, rank: int = 0, top: int = 5) -> Callable[[profile], None]:
    """Return a handler that writes one file, and what the profiler's own table begins with."""

    def handler(prof: profile) -> None:
        prof.export_chrome_trace(str(Path(folder) / f"rank{rank}_cycle1_trace.json.gz"))
        rows = [[1, it.key, it.count, it.self_cpu_time_total] for it in prof.key_averages()]
        table = pd.DataFrame(rows[:top], columns=["cycle", "operator", "calls", "own_us"])
        table.insert(1, "place", range(1, len(table) + 1))
        table.to_csv(Path(folder) / "operators.csv", index=False)

    return handler


def profile_cycles(
    step: Callable[[int], Any],
    steps: int,
    handler: Callable[[profile], Any],
    wait: int = 1,
    warmup: int = 1,
    active: int = 3,
    repeat: int = 2,
) -> int:
    """Record every step, whatever the cycles are."""
    with profile(on_trace_ready=handler) as prof:
        for number in range(steps):
            step(number)
        prof.step()
    return 1
