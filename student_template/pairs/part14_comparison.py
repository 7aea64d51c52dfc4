# %% [markdown]
# # Part 14: the table
#
# Fourteen pairs of this lab in one table: what did each of them gain, in time or in memory, and is it more than noise?
# Such a table is measured again after each change; then a program says which pair got worse.

# %%
from __future__ import annotations

import math
import statistics
import sys
import time
from pathlib import Path

import pandas as pd
import torch

from given import Meter, device_name, live_peak, load_pairs

TABLE = "pairs.csv"

# %% [markdown]
# ## 14.1 Both sides of each pair


# %%
def compare_pairs(pairs, meter, folder, iterations=100):
    """Measure each pair; write pairs.csv into *folder* and return its rows, a dict each.

    pairs: name -> (goal, baseline, optimized), the goal "time" or "memory". Each function is called ten times to warm
    up, and then timed, each call alone. A separate call of live_peak(function) returns the bytes that the function
    needs, which are never 0.
    """
    # TODO: milliseconds; MB of 10**6 bytes. The verdict is about the goal: "better", "worse" or "cannot tell".
    # YOUR CODE HERE
    raise NotImplementedError()


def timed(function, meter, iterations):
    """Return mean and standard deviation (n - 1) of single calls in seconds, after ten calls to warm up."""
    # TODO: time.perf_counter(), for each call alone; meter.synchronize() waits until the device is idle.
    # YOUR CODE HERE
    raise NotImplementedError()


def verdict(row, iterations):
    """Return "better", "worse" or "cannot tell": time by the interval of the speedup, memory from 1.05x on."""
    # TODO: the handout says what the interval is; memory is "worse" from 1 / 1.05 down.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## 14.2 What got worse


# %%
def regressions(before, after, tolerance=0.05):
    """Return the names of pairs in both tables (lists of rows) whose optimized side got worse at its goal.

    Worse: the goal's number (see the TODO) is more than (1 + tolerance) times what it was. Any order will do.
    Raise ValueError if the rows of both tables together name more than one device.
    """
    # TODO: optimized_ms or optimized_mb, by the goal.
    # YOUR CODE HERE
    raise NotImplementedError()


# %%
def table_before(file, device):
    """Return the rows of the table in *file*, or [] if there is no such file; stop if they name another device."""
    try:
        rows = pd.read_csv(file).to_dict("records")
    except (FileNotFoundError, pd.errors.EmptyDataError):
        return []
    others = {str(row["device"]) for row in rows if "device" in row} - {device_name(device)}
    if others:
        sys.exit(f"{file} was measured on another device ({', '.join(sorted(others))}): rename it, and run this again")
    return rows


if __name__ == "__main__":
    torch.set_num_threads(1)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    before = table_before(TABLE, device)
    pairs = load_pairs(".", device)
    if not pairs:
        sys.exit("no pair could be measured: write the other parts first")
    after = compare_pairs(pairs, Meter(device), ".", iterations=30)
    print(pd.DataFrame(after).drop(columns="device").round(3).to_string(index=False))
    worse = regressions(before, after, tolerance=0.2)
    if worse:
        print(f"worse than in the table before: {', '.join(worse)}")
        sys.exit(2)
