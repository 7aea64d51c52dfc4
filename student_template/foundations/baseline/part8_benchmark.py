"""Part 8 before the work: times and tables as they are often shown. Each function is wrong in some case.

Yours is compared with the rules of the handout, and not with these.
"""

from __future__ import annotations

import statistics
import time
from typing import Any


def benchmark(function, *inputs, warmup=10, repeats=100, synchronize=None) -> dict[str, Any]:
    """Take the mean of five calls, the first included."""
    runs = [milliseconds(function, inputs, synchronize) for _ in range(5)]
    mean, longest = statistics.mean(runs), max(runs)
    return {
        "mean_ms": mean,
        "std_ms": statistics.stdev(runs),
        "p50_ms": mean,
        "p95_ms": longest,
        "p99_ms": longest,
        "per_second": 1000 / mean,
        "runs": runs,
    }


def milliseconds(function, inputs, synchronize):
    """Read the clock as soon as the call returns."""
    start = time.perf_counter()
    function(*inputs)
    return 1000 * (time.perf_counter() - start)


def compare(baseline, candidate, *inputs, pairs=30, warmup=3, synchronize=None) -> dict[str, Any]:
    """Time one after the other, and believe the ratio of the means."""
    first = statistics.mean(milliseconds(baseline, inputs, synchronize) for _ in range(pairs))
    second = statistics.mean(milliseconds(candidate, inputs, synchronize) for _ in range(pairs))
    ratio = first / second
    return {"ratio": ratio, "low": ratio, "high": ratio, "verdict": "faster" if ratio > 1 else "slower"}


def speedup_rows(minutes) -> list[dict[str, Any]]:
    """Divide by the previous row alone: cumulative is the same as incremental."""
    rows, previous = [], 0.0
    first = next(iter(minutes.values()), 0.0)
    for step, own in minutes.items():
        gain = previous / own if previous else 1.0
        saved = 100 * (1 - own / first)
        row = {"step": step, "minutes": own, "cumulative": gain, "incremental": gain, "saved_percent": saved}
        rows.append(row)
        previous = own
    return rows


def training_memory(
    parameters, recipe, activations_per_sample=0, micro_batch=1, accumulation=1, processes=1
) -> dict[str, float]:
    """Count weights and gradients, and forget what the optimizer keeps."""
    each = 4 if recipe in ("fp32", "amp") else 2
    total = 2 * each * parameters
    held = {"weights": each * parameters, "gradients": each * parameters, "masters": 0, "optimizer": 0}
    return {**held, "activations": 0, "total": total, "total_gib": total / 2**30, "effective_batch": micro_batch}
