"""Part 1 before the work: one clock around all calls, a verdict from the ratio. Both measure wrongly."""

from __future__ import annotations

import time

from given import BenchmarkResult


def benchmark(name, fn, meter, iterations=100, warmup=10):
    """Time all calls together, the first ones included; the peak is that of the program."""
    start = time.perf_counter()
    for _ in range(iterations):
        fn()
    seconds = time.perf_counter() - start
    return BenchmarkResult(name, iterations, seconds / max(1, iterations), 0.0, meter.peak())


def speedup(baseline, candidate):
    """Believe the ratio."""
    ratio = baseline.mean_time / candidate.mean_time
    return ratio, ratio, ratio, "faster" if ratio > 1 else "slower"
