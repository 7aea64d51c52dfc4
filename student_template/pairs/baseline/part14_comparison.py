"""Part 14 before the work: each function is called once, and whatever comes out decides."""

from __future__ import annotations

import time
from pathlib import Path

import pandas as pd

from given import device_name, live_peak


def compare_pairs(pairs, meter, folder, iterations=100):
    """Time one cold call while the memory is watched."""
    rows = []
    for name, (goal, *functions) in pairs.items():
        row = {"pair": name, "goal": goal}
        for side, function in zip(("baseline", "optimized"), functions, strict=True):
            start = time.perf_counter()
            row[f"{side}_mb"] = live_peak(function) / 1e6
            row[f"{side}_ms"], row[f"{side}_std_ms"] = 1000 * (time.perf_counter() - start), 0.0
        row["speedup"] = row["baseline_ms"] / row["optimized_ms"]
        row["memory_ratio"] = row["baseline_mb"] / row["optimized_mb"]
        row["verdict"] = "better" if row["speedup"] > 1 else "worse"
        rows.append(row | {"device": device_name(meter.device)})
    order = ("pair", "goal", "baseline_ms", "baseline_std_ms", "optimized_ms", "optimized_std_ms", "baseline_mb")
    table = pd.DataFrame(rows)[[*order, "optimized_mb", "speedup", "memory_ratio", "verdict", "device"]]
    table.to_csv(Path(folder) / "pairs.csv", index=False)
    return table.to_dict("records")


def timed(function, meter, iterations):
    """Time one call."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start, 0.0


def verdict(row, iterations):
    """Believe the ratio."""
    return "better" if row["speedup"] > 1 else "worse"


def regressions(before, after, tolerance=0.05):
    """Compare times, whatever the goal is and wherever they were measured."""
    earlier = {row["pair"]: row for row in before}
    return [row["pair"] for row in after if row["optimized_ms"] > earlier.get(row["pair"], row)["optimized_ms"]]
