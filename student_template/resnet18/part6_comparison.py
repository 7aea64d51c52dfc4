# %% [markdown]
# # Part 6: everything together
#
# Five parts improved one thing each. Now you write one program with all of it, a fair comparison, and a report of
# measured numbers only. There are two programs:
#
# | file | what it does |
# |---|---|
# | `optimized_training.py` | trains, with each optimization behind an option, and prints what it took |
# | `part6_comparison.py`, this one | starts it for each configuration; makes a table, a dashboard, a summary |
#
# Each configuration runs in a process of its own. What one leaves behind (memory that is not given back, compiled code,
# chosen kernels, flags, patched modules) cannot reach the next one.

# %%
from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd

# %% [markdown]
# ## 6.1 One configuration, one process
#
# A configuration is a name, the one it builds on, and the options that `optimized_training.py` is started with.

# %%
LOADER = ["--workers", "2"]
CONFIGURATIONS = [
    {"configuration": "Baseline", "builds_on": "", "options": []},
    {"configuration": "Data loader", "builds_on": "Baseline", "options": LOADER},
    {"configuration": "AMP", "builds_on": "Data loader", "options": [*LOADER, "--amp"]},
    {"configuration": "Compile", "builds_on": "AMP", "options": [*LOADER, "--amp", "--compile"]},
    {"configuration": "Accumulation", "builds_on": "AMP", "options": [*LOADER, "--amp", "--accumulate", "4"]},
    {"configuration": "Checkpointing", "builds_on": "AMP", "options": [*LOADER, "--amp", "--checkpoint"]},
]
FIGURES = ["throughput", "epoch_time", "data_wait", "warm_up_s", "peak_memory_mb", "loss", "accuracy"]
COLUMNS = ["configuration", "builds_on", *FIGURES, "speedup", "gain", "device"]


def run_configuration(options, script="optimized_training.py") -> dict[str, Any]:
    """Run script with these options in a process of its own and return the JSON object in its last line.

    If the program fails, raise a RuntimeError that holds the end of what it wrote to stderr.
    """
    # TODO: this Python (sys.executable), script, options; wait for it; look at its exit status before its output.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## 6.2 The table


# %%
def compare_all(configurations, script="optimized_training.py", folder=".") -> list[dict[str, Any]]:
    """Run every configuration, one after the other; return the rows, write them and draw them into folder.

    A row has the names in COLUMNS: the configuration and what it builds on, the FIGURES of its run, speedup
    (throughput / throughput of the first row), gain (throughput / throughput of the row that it builds on; 1 if it
    builds on none), and the device.
    Writes optimization_results.csv, with plain numbers, and optimization_dashboard.png.
    """
    # TODO: one run at a time: two would take each other's cores.
    # TODO: print a line for each run as it ends: all of them take a minute or two.
    # YOUR CODE HERE
    raise NotImplementedError()


def summarize(rows) -> dict[str, Any]:
    """Return a dict of these five entries. The three numbers compare a row with the first one.

    fastest               the configuration with the highest throughput
    speedup               its throughput / the first row's
    time_saved_s          seconds of an epoch that it saves, from the measured epoch times
    leanest               the configuration with the smallest peak memory
    memory_saved_percent  percent of the first row's peak that it saves
    """
    # TODO: from the rows alone.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## 6.3 The dashboard

# %%
PANELS = {
    "throughput": "Throughput (samples/s)",
    "speedup": "Speedup over the baseline (x)",
    "peak_memory_mb": "Peak memory (MB)",
    "gain": "Gain over what it builds on (x)",
}


def draw_dashboard(rows, folder=".") -> None:
    """Draw rows, any number of them, as optimization_dashboard.png in folder: four panels, a bar per configuration."""
    # TODO: one panel per quantity in PANELS; bars named by their configuration and as high as the row says.
    # YOUR CODE HERE
    raise NotImplementedError()


# %%
if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # on shared cores, more threads would wait for other programs
    rows = compare_all(CONFIGURATIONS)
    print(pd.DataFrame(rows).to_string(index=False))
    print(summarize(rows))
