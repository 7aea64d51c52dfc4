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
    ### BEGIN SOLUTION
    rows = []
    for name, (goal, *functions) in pairs.items():
        row = {"pair": name, "goal": goal}
        for side, function in zip(("baseline", "optimized"), functions, strict=True):
            mean, std = timed(function, meter, iterations)
            row |= {f"{side}_ms": 1000 * mean, f"{side}_std_ms": 1000 * std}
        for side, function in zip(("baseline", "optimized"), functions, strict=True):
            row[f"{side}_mb"] = live_peak(function) / 1e6
        row["speedup"] = row["baseline_ms"] / row["optimized_ms"]
        row["memory_ratio"] = row["baseline_mb"] / row["optimized_mb"]
        row["verdict"] = verdict(row, iterations)
        rows.append(row | {"device": device_name(meter.device)})
    pd.DataFrame(rows).to_csv(Path(folder) / TABLE, index=False)
    return rows
    ### END SOLUTION


def timed(function, meter, iterations):
    """Return mean and standard deviation (n - 1) of single calls in seconds, after ten calls to warm up."""
    # TODO: time.perf_counter(), for each call alone; meter.synchronize() waits until the device is idle.
    ### BEGIN SOLUTION
    for _ in range(10):
        function()
    meter.synchronize()
    times = []
    for _ in range(iterations):
        start = time.perf_counter()
        function()
        meter.synchronize()
        times.append(time.perf_counter() - start)
    return statistics.mean(times), statistics.stdev(times)
    ### END SOLUTION


def verdict(row, iterations):
    """Return "better", "worse" or "cannot tell": time by the interval of the speedup, memory from 1.05x on."""
    # TODO: the handout says what the interval is; memory is "worse" from 1 / 1.05 down.
    ### BEGIN SOLUTION
    if row["goal"] == "memory":
        low = high = row["memory_ratio"]
        better, worse = 1.05, 1 / 1.05
        return "better" if low >= better else "worse" if high <= worse else "cannot tell"
    spread = [(row[f"{side}_std_ms"] / row[f"{side}_ms"]) ** 2 / iterations for side in ("baseline", "optimized")]
    factor = math.exp(1.96 * math.sqrt(sum(spread)))
    if row["speedup"] / factor > 1:
        return "better"
    return "worse" if row["speedup"] * factor < 1 else "cannot tell"
    ### END SOLUTION


# %% [markdown]
# ## 14.2 What got worse


# %%
def regressions(before, after, tolerance=0.05):
    """Return the names of pairs in both tables (lists of rows) whose optimized side got worse at its goal.

    Worse: the goal's number (see the TODO) is more than (1 + tolerance) times what it was. Any order will do.
    Raise ValueError if the rows of both tables together name more than one device.
    """
    # TODO: optimized_ms or optimized_mb, by the goal.
    ### BEGIN SOLUTION
    devices = {row["device"] for row in [*before, *after]}
    if len(devices) > 1:
        raise ValueError(f"measured on {len(devices)} devices: {', '.join(sorted(devices))}")
    column = {"time": "optimized_ms", "memory": "optimized_mb"}
    earlier = {row["pair"]: row for row in before}
    worse = []
    for row in after:
        figure = column[row["goal"]]
        if row["pair"] in earlier and row[figure] > earlier[row["pair"]][figure] * (1 + tolerance):
            worse.append(row["pair"])
    return worse
    ### END SOLUTION


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
