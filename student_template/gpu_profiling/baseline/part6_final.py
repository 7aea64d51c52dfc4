"""Part 6 before the work: a run that failed is a row, utilization is a column of nsys, and nothing is drawn."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from given import load_events


def run_version(command) -> dict[str, Any]:
    """Take the last line, however the program ended."""
    ended = subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True, check=False)
    return json.loads(ended.stdout.strip().splitlines()[-1])


def busy_percent(file) -> float:
    """Add up the durations of all work: what overlaps counts twice, and start and end count as well."""
    events = load_events(file)
    work = sum(e.end - e.start for e in events if e.category in ("kernel", "cpu_op"))
    return 100 * work / (max(e.end for e in events) - min(e.start for e in events))


def compare_versions(versions, folder=".") -> list[dict[str, Any]]:
    """Write numbers as text, as tables are often written."""
    rows: list[dict[str, Any]] = []
    for one in versions:
        figures = run_version(one["command"])
        speedup = figures["throughput"] / (rows[0]["throughput"] if rows else figures["throughput"])
        rows.append({"version": one["version"], **figures, "speedup": speedup})
    with (Path(folder) / "final_results.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(rows[0])
        writer.writerows([f"{it:.2f}x" if isinstance(it, float) else it for it in row.values()] for row in rows)
    draw_comparison(rows, folder)
    return rows


def draw_comparison(rows, folder=".") -> None:
    """Draw nothing."""


def read_stats(file) -> dict[str, float]:
    """Take the first table for the one of the kernels."""
    text = Path(file).read_text(encoding="utf-8")
    times = [int(number) for number in re.findall(r"^[\d.]+,(\d+),", text, re.MULTILINE)]
    return {"launches": len(times), "kernel_ms": sum(times) / 1e6, "copy_to_gpu_ms": 0.0, "waiting_calls": 0}
