# %% [markdown]
# # Part 8: benchmarks
#
# A time is a claim. It holds if the first calls are left out, if the clock waits for the device, if the two functions
# that are compared ran under the same conditions, and if the difference is larger than chance. You write a benchmark
# and a comparison that keep these rules. Then you compute tables of speedups and memory.

# %%
from __future__ import annotations

import math
import time
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import torch

from given import attention_by_hand, device_name, make_inputs

# %% [markdown]
# ## 8.1 One function


# %%
def benchmark(function, *inputs, warmup=10, repeats=100, synchronize=None) -> dict[str, Any]:
    """Time function(*inputs), each of `repeats` calls alone, after `warmup` calls that do not count.

    Returns mean_ms, std_ms, p50_ms, p95_ms, p99_ms, per_second (repeats / the sum of the times), runs (a list, ms).
    synchronize(), if there is one, comes before each reading of the clock. ValueError for fewer than 2 repeats.
    """
    # TODO: time.perf_counter(); percentiles as np.percentile returns them.
    # YOUR CODE HERE
    raise NotImplementedError()


def milliseconds(function, inputs, synchronize):
    """Return the time of one call; work that it leaves on the device counts, and work from before does not."""
    # TODO: a helper for benchmark and compare; no check calls it. Read the clock twice, with synchronize() before each.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## 8.2 Two functions


# %%
def compare(baseline, candidate, *inputs, pairs=30, warmup=3, synchronize=None) -> dict[str, Any]:
    """Say whether candidate is faster than baseline: ratio, low, high, verdict.

    After `warmup` calls of each: pairs of calls, each timed alone; baseline is first in pairs 1, 3, 5, ...
    ratio: median of baseline / candidate over the pairs. low and high: the k-th smallest and k-th largest of these
    ratios, k the largest with P(Bin(pairs, 1/2) < k) <= 2.5 %. verdict: "faster" if low > 1, "slower" if high < 1, else
    "no difference". ValueError for fewer than 6 pairs: k would be 0.
    """
    # TODO: count k by math.comb; sort the ratios.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## 8.3 Tables


# %%
def speedup_rows(minutes) -> list[dict[str, Any]]:
    """Return a row for each entry of minutes, in the same order.

    minutes: name of a change -> minutes that a training takes after it; the first entry is the baseline.

    A row: step (the name), minutes, cumulative (the first row's minutes / this row's), incremental (the previous
    row's / this row's, 1 in the first), saved_percent (the time saved since the
    first row, in percent of the first row's).
    """
    # TODO: saved_percent is no speedup: 74 % less time is 3.9 times as fast.
    # YOUR CODE HERE
    raise NotImplementedError()


def training_memory(
    parameters, recipe, activations_per_sample=0, micro_batch=1, accumulation=1, processes=1
) -> dict[str, float]:
    """Return the bytes that a training with Adam holds in each process, and how large its batch is.

    recipe: bytes per parameter of weights, gradients, masters and optimizer: "fp32" and "amp" 4, 4, 0, 8;
    "half_with_masters" 2, 2, 4, 8; "pure_half" 2, 2, 0, 4. Returns weights, gradients, masters, optimizer, activations,
    total (bytes), total_gib (2**30 bytes), effective_batch.
    """
    # TODO: activations are those of one micro-batch, whatever accumulation and processes are.
    # YOUR CODE HERE
    raise NotImplementedError()


# %%
if __name__ == "__main__":
    torch.set_num_threads(1)  # on shared cores, more threads would wait for other programs
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    wait = torch.cuda.synchronize if device.type == "cuda" else None
    q, k, v = make_inputs(256, device)
    versions = {
        "by hand": attention_by_hand,
        "by hand again": attention_by_hand,
        "fused": torch.nn.functional.scaled_dot_product_attention,
    }
    rows = []
    for name, version in versions.items():
        row = {"version": name, **benchmark(version, q, k, v, synchronize=wait)}
        row |= compare(versions["by hand"], version, q, k, v, synchronize=wait)
        del row["runs"]
        rows.append(row | {"device": device_name(device)})
    pd.DataFrame(rows).to_csv("benchmark_results.csv", index=False)
    print(pd.DataFrame(rows).drop(columns="device").round(3).to_string(index=False))
    slides = {"baseline": 120, "loader": 86, "mixed precision": 45, "compiled": 37, "channels last": 31}
    print(pd.DataFrame(speedup_rows(slides)).round(2).to_string(index=False))
    for recipe in ("fp32", "half_with_masters", "pure_half"):
        print(recipe, round(training_memory(7_000_000_000, recipe)["total_gib"], 1), "GiB")
