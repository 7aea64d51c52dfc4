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
    # YOUR CODE HERE
    raise NotImplementedError()


def masked_mean(values, mask):
    """Return for each row the mean of the values whose mask is True; NaN where there is none.

    values: (n, d); mask: (n, d), bool. What is masked out has no influence, not even NaN and infinity;
    a NaN that is not masked out makes its row NaN.
    """
    # TODO: 0 * NaN is NaN, so do not multiply by the mask.
    # YOUR CODE HERE
    raise NotImplementedError()


def pairwise_distances(points, centers):
    """Return the Euclidean distance of each point (row) to each center (column): (n, m).

    points: (n, d); centers: (m, d). Right also for points close together and far from zero.
    """
    # TODO: |a|^2 + |b|^2 - 2ab is one matrix product, and loses the digits that matter: subtract first.
    # YOUR CODE HERE
    raise NotImplementedError()


def top_k_hits(logits, labels, k):
    """Return how many rows have their label among their k largest logits, as a tensor of one whole number.

    logits: (n, classes); labels: (n,); a negative label is no hit. k may be more than there are classes.
    """
    # TODO: return a tensor: .item() here would make every caller wait for the device.
    # YOUR CODE HERE
    raise NotImplementedError()


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
    # YOUR CODE HERE
    raise NotImplementedError()


# %%
if __name__ == "__main__":
    torch.set_num_threads(1)  # on shared cores, more threads would wait for other programs
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    mine = {f.__name__: f for f in (running_clipped_mean, masked_mean, pairwise_distances, top_k_hits)}
    cases = {name: (getattr(loops, name), mine[name], them) for name, them in make_tables(1000, device).items()}
    print(pd.DataFrame(measure_speedups(cases, device)).to_string(index=False))
