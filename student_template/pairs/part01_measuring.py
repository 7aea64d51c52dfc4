# %% [markdown]
# # Part 1: numbers one can trust
#
# Every part of this lab ends with a comparison: a slow function, a faster or leaner one, and a number. Here you write
# what makes such a number worth something: a benchmark of one function, and a verdict about two.

# %%
from __future__ import annotations

import math
import statistics
import time

import torch

from given import BenchmarkResult, Meter

# %% [markdown]
# ## 1.1 One function


# %%
def benchmark(name, fn, meter, iterations=100, warmup=10):
    """Time fn(): `warmup` calls that do not count, then `iterations` calls, each timed alone; no other call.

    The device is idle at each reading of the clock. Return a BenchmarkResult: mean_time and std_time (n - 1) in
    seconds; memory_peak: meter.peak() over the timed calls minus meter.allocated() before them, None if meter.peak()
    is None. Raise ValueError for fewer than 2 iterations.
    """
    # TODO: time.perf_counter(); meter.synchronize() waits until the device is idle.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## 1.2 Two functions


# %%
def speedup(baseline, candidate):
    """Compare two BenchmarkResults: (ratio, low, high, verdict).

    ratio: baseline's mean_time / candidate's. low and high: ratio * exp(-1.96 * s) and ratio * exp(1.96 * s). For each
    of the two results, compute (std_time / mean_time) ** 2 / iterations; s ** 2 is the sum of these two numbers.
    verdict: "faster" if low is above 1, "slower" if high is below 1, else "cannot tell".
    """
    # TODO: each result has its own number of iterations.
    # YOUR CODE HERE
    raise NotImplementedError()


# %%
if __name__ == "__main__":
    torch.set_num_threads(1)
    meter = Meter(torch.device("cuda" if torch.cuda.is_available() else "cpu"))
    x = torch.randn(300, 300, device=meter.device)
    versions = {"two products": lambda: x @ x @ x, "again": lambda: x @ x @ x, "one product": lambda: x @ x}
    for iterations in (5, 100):
        results = [benchmark(name, fn, meter, iterations) for name, fn in versions.items()]
        for result in results:
            ratio, low, high, verdict = speedup(results[0], result)
            milliseconds = f"{1e3 * result.mean_time:.3f} ms +- {1e3 * result.std_time:.3f}"
            gain = f"{ratio:.2f}x ({low:.2f}x to {high:.2f}x): {verdict}"
            print(f"{iterations:4} calls, {result.name:15} {milliseconds}, {gain}")
    claims = sum(
        speedup(*(benchmark(str(n), versions["again"], meter, 5, warmup=0) for n in (1, 2)))[3] != "cannot tell"
        for _ in range(60)
    )
    print(f"one function against itself, 60 times with 5 calls: {claims} claims of a difference")
