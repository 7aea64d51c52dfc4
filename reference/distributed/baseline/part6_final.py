"""Part 6 before the work: rows that build on each other, the first epoch included, and one latency for a step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from given import device_name


def compare_configurations(run, samples, batch_size, device, folder=".") -> list[dict[str, Any]]:
    """Switch on one thing after the other, and keep the batch; numbers become texts, and nothing is drawn."""
    rows: list[dict[str, Any]] = []
    options: dict[str, Any] = {}
    changes = {
        "Baseline": {},
        "+ AMP": {"amp": True},
        "+ Grad Accum": {"accumulate": 4},
        "+ DataLoader": {"workers": 2},
    }
    for name, changed in {**changes, "+ All": {}}.items():
        options |= changed
        result = run(**options, samples=samples, batch_size=batch_size)
        throughput = samples * len(result["seconds"]) / sum(result["seconds"])
        rows.append(
            {
                "optimization": name,
                "throughput": f"{throughput:.1f} samples/s",
                "speedup": f"{throughput / 100:.2f}x",
                "memory_mb": result["peak_mb"][0],
                "accuracy": result["accuracy"],
                "steps": result["steps"],
                "device": device_name(device),
            }
        )
    pd.DataFrame(rows).to_csv(Path(folder) / "distributed_results.csv", index=False)
    return rows


def predict_step(processes, compute_ms, buckets, latency_ms, bytes_per_ms, hideable_ms) -> dict[str, float]:
    """Send all bytes at once, and hide nothing."""
    step = compute_ms + latency_ms + sum(buckets) / bytes_per_ms
    return {"step_ms": step, "efficiency": compute_ms / step, "strong_efficiency": compute_ms / step}
