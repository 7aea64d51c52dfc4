"""Part 6 before the work: everything in one process, as in a notebook, and a summary of the last row.

What one configuration leaves behind reaches the next one here. Yours starts a process for each.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import runpy
import sys
from pathlib import Path
from typing import Any


def run_configuration(options, script="optimized_training.py") -> dict[str, Any]:
    """Run the program here, and let whatever it changes stay changed."""
    before, sys.argv = sys.argv, [str(script), *options]
    try:
        with contextlib.redirect_stdout(io.StringIO()) as output:
            runpy.run_path(str(script), run_name="__main__")
    finally:
        sys.argv = before
    return json.loads(output.getvalue().strip().splitlines()[-1])


def compare_all(configurations, script="optimized_training.py", folder=".") -> list[dict[str, Any]]:
    """Write numbers as text, as tables are often written."""
    rows: list[dict[str, Any]] = []
    for one in configurations:
        figures = run_configuration(one["options"], script)
        speedup = figures["throughput"] / (rows[0]["throughput"] if rows else figures["throughput"])
        row = {name: value for name, value in figures.items() if name != "losses"}
        rows.append({"configuration": one["configuration"], **row, "speedup": speedup})
    with (Path(folder) / "optimization_results.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(rows[0])
        writer.writerows([f"{it:.2f}" if isinstance(it, float) else it for it in row.values()] for row in rows)
    draw_dashboard(rows, folder)
    return rows


def summarize(rows) -> dict[str, Any]:
    """Take the last row for the best one, and the time saved from its speedup."""
    first, last = rows[0], rows[-1]
    speedup = last["throughput"] / first["throughput"]
    saved = 100 * (1 - last["peak_memory_mb"] / first["peak_memory_mb"])
    return {
        "fastest": last["configuration"],
        "speedup": speedup,
        "time_saved_s": first["epoch_time"] - first["epoch_time"] / speedup,
        "leanest": last["configuration"],
        "memory_saved_percent": saved,
    }


def draw_dashboard(rows, folder=".") -> None:
    """Draw nothing."""
