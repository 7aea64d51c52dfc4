# %% [markdown]
# # Part 2: loops
#
# One operation on a tensor costs a few microseconds before it computes anything: Python looks it up, torch chooses a
# kernel, a result is allocated. For one number this is nearly all of the time; for a million numbers it is nearly
# nothing. So a Python loop over a million elements pays a million times for what one call pays once. On a GPU it is
# worse: each operation is a launch, and each `.item()` makes the host wait until the device has caught up.
#
# You write four functions without a loop over elements, and measure what that gains.

# %%
from __future__ import annotations

import statistics
import time
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from given import device_name, loops, make_tables

# %% [markdown]
# ## 2.1 Four functions
#
# `given.loops` has each of them as a loop; yours must equal it for any number of rows, also for 0. The result is a
# tensor on the device of the inputs. Means and distances have the dtype of the values, or float32 if these are whole
# numbers. Do not change the inputs.


# %%
def running_clipped_mean(values, low, high):
    """Return for each position the mean of this value and all before it, each value clipped to low ... high.

    values: (n,). From the first NaN on, every mean is NaN.
    """
    # TODO: a running sum is one call.
    ### BEGIN SOLUTION
    clipped = values.clamp(low, high) if values.is_floating_point() else values.float().clamp(low, high)
    counts = torch.arange(1, len(values) + 1, device=values.device)
    return clipped.cumsum(0) / counts
    ### END SOLUTION


def masked_mean(values, mask):
    """Return for each row the mean of the values whose mask is True; NaN where there is none.

    values: (n, d); mask: (n, d), bool. What is masked out has no influence, not even NaN and infinity;
    a NaN that is not masked out makes its row NaN.
    """
    # TODO: 0 * NaN is NaN, so do not multiply by the mask.
    ### BEGIN SOLUTION
    kept = values.masked_fill(~mask, 0)  # a new tensor; masked_fill_ would change the caller's
    return kept.sum(dim=1, dtype=values.dtype if values.is_floating_point() else torch.float32) / mask.sum(dim=1)
    ### END SOLUTION


def pairwise_distances(points, centers):
    """Return the Euclidean distance of each point (row) to each center (column): (n, m).

    points: (n, d); centers: (m, d). Right also for points close together and far from zero.
    """
    # TODO: |a|^2 + |b|^2 - 2ab is one matrix product, and loses the digits that matter: subtract first.
    ### BEGIN SOLUTION
    return (points[:, None, :] - centers[None, :, :]).square().sum(dim=2).sqrt()  # (n, m, d) -> (n, m)
    ### END SOLUTION


def top_k_hits(logits, labels, k):
    """Return how many rows have their label among their k largest logits, as a tensor of one whole number.

    logits: (n, classes); labels: (n,); a negative label is no hit. k may be more than there are classes.
    """
    # TODO: return a tensor: .item() here would make every caller wait for the device.
    ### BEGIN SOLUTION
    best = logits.topk(min(k, logits.shape[1]), dim=1).indices  # (n, k)
    return (best == labels[:, None]).sum()  # a label is there once or not at all
    ### END SOLUTION


# %% [markdown]
# ## 2.2 What it gains
#
# The first call does work that later calls do not repeat, and sometimes another program uses the machine: warm up,
# repeat, and take the median.

# %%
COLUMNS = ["function", "loop_ms", "vectorized_ms", "speedup", "device"]


def measure_speedups(cases, device, folder=".", repeats=5) -> list[dict[str, Any]]:
    """Time the loop and the vectorized version of each function; return the rows, and write them as a table.

    cases: name -> (loop, vectorized, arguments): call each function with *arguments.

    A row has the names in COLUMNS: loop_ms, vectorized_ms (the median of `repeats` calls, each timed alone, after a
    warm-up, in milliseconds), speedup (loop_ms / vectorized_ms), device (its name). Writes loop_speedups.csv.
    """
    # TODO: warm up; on a GPU, torch.cuda.synchronize() before each reading of the clock.
    # TODO: write numbers as numbers: 85.2, not "85.2x".
    ### BEGIN SOLUTION

    def reading():
        if device.type == "cuda":
            torch.cuda.synchronize()  # calls only queue work there
        return time.perf_counter()

    def milliseconds(function, arguments):
        function(*arguments)  # the warm-up
        times = []
        for _ in range(repeats):
            start = reading()
            function(*arguments)
            times.append(reading() - start)
        return 1000 * statistics.median(times)

    rows: list[dict[str, Any]] = []
    for name, (loop, vectorized, arguments) in cases.items():
        slow, fast = milliseconds(loop, arguments), milliseconds(vectorized, arguments)
        rows.append(dict(zip(COLUMNS, (name, slow, fast, slow / fast, device_name(device)), strict=True)))
    pd.DataFrame(rows, columns=COLUMNS).to_csv(Path(folder) / "loop_speedups.csv", index=False)
    return rows
    ### END SOLUTION


# %%
if __name__ == "__main__":
    torch.set_num_threads(1)  # on shared cores, more threads would wait for other programs
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    mine = {f.__name__: f for f in (running_clipped_mean, masked_mean, pairwise_distances, top_k_hits)}
    cases = {name: (getattr(loops, name), mine[name], them) for name, them in make_tables(1000, device).items()}
    print(pd.DataFrame(measure_speedups(cases, device)).to_string(index=False))
