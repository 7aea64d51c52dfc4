# %% [markdown]
# # Part 6: all of it together
#
# Put everything that you found into one program, and measure what each version brings. You write two files.
#
# | file | what it does |
# |---|---|
# | `training_final_optimized.py` | trains, with seven points of a checklist, and prints what it took |
# | `part6_final.py`, this one | runs 5 versions, each with more points than the one before; makes table and picture |
#
# All versions do the same work: the same number of photos and of optimizer steps, from the same first weights.
# Otherwise a speedup would mean nothing.

# %%
from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd

from given import covered, divided, load_events

# %% [markdown]
# ## 6.1 Five versions
#
# Each builds on the one before. `Baseline` is `given.training_matched`: the slow script, with the steps of the others.

# %%
SCRIPT = "training_final_optimized.py"
LOADER = ["--workers", str(min(8, os.cpu_count() or 1))]
VERSIONS = [
    {"version": "Baseline", "command": ["-m", "given.training_matched"], "profile": "profile_baseline.gz"},
    {"version": "DataLoader", "command": [SCRIPT, *LOADER], "profile": "profile_loader.gz"},
    {"version": "Model", "command": [SCRIPT, *LOADER, "--compile"], "profile": "profile_model.gz"},
    {"version": "Memory", "command": [SCRIPT, *LOADER, "--compile", "--amp"], "profile": "profile_memory.gz"},
    {
        "version": "Final",
        "command": [SCRIPT, *LOADER, "--compile", "--amp", "--batch-size", "0"],
        "profile": "final_profile.gz",
    },
]
FIGURES = ["throughput", "seconds", "data_wait", "warm_up_s", "samples", "steps", "batch_size", "loss"]
COLUMNS = ["version", "busy_percent", *FIGURES, "speedup", "device"]


def run_version(command) -> dict[str, Any]:
    """Run this Python with *command* in a new process; return the JSON object in the last line that it prints.

    If it fails, raise a RuntimeError that holds the end of what it wrote to stderr.
    """
    # TODO: subprocess.run([sys.executable, *command], ...); check the exit status before you read the output.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## 6.2 Which utilization
#
# "More than 80 % GPU utilization" means nothing until you name the metric. Here it is the share of the steps' time in
# which at least one kernel ran. It says that the GPU had something to do, not that it was full.


# %%
def busy_percent(file) -> float:
    """Return the percentage of the steps' time in which a kernel ran; without kernels, in which an operator ran.

    The steps are from the start of the first ProfilerStep to the end of the last (category user_annotation). Without
    kernels, operators during a wait for the loader (enumerate(DataLoader)...) do not count.
    """
    # TODO: given has load_events, covered and divided.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## 6.3 The table


# %%
def compare_versions(versions, folder=".") -> list[dict[str, Any]]:
    """Run every version, one after the other; return the rows, write them and draw them into folder.

    A version has its name, the command for run_version, and the file to which the program writes a profile: read
    that file as it is named, whatever *folder* is.
    A row has the names in COLUMNS: version, busy_percent (of its profile), the FIGURES and the device that it
    printed, speedup (its throughput / the throughput of the first row).
    Writes final_results.csv, with plain numbers, and final_comparison.png.
    """
    # TODO: one at a time, or they take each other's cores.
    # YOUR CODE HERE
    raise NotImplementedError()


PANELS = {"busy_percent": "Busy (% of the steps)", "throughput": "Throughput (samples/s)", "speedup": "Speedup (x)"}


def draw_comparison(rows, folder=".") -> None:
    """Draw rows, any number of them, as final_comparison.png in folder: three panels, a bar for each version."""
    # TODO: one panel for each quantity in PANELS, with a bar for each version, its height taken from the row.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## 6.4 Before and after, as Nsight Systems sums it up
#
#     nsys stats --report cuda_gpu_kern_sum,cuda_gpu_mem_time_sum,cuda_api_sum --format csv before.nsys-rep
#
# prints three tables in one text, with other words between them. Redirect this output to `stats_before.txt`, and the
# output for after.nsys-rep to `stats_after.txt`. `Time (%)` is a row's share of the time of its table, not a
# utilization.

# %%
MEASURES = ["launches", "kernel_ms", "copy_to_gpu_ms", "waiting_calls"]


def read_stats(file) -> dict[str, float]:
    """Return the MEASURES of what nsys stats printed as CSV; what it does not list is 0.

    launches        kernels that ran: the Instances of the table with a Name
    kernel_ms       their times, added up
    copy_to_gpu_ms  of copies from host to device: their Operation says HtoD or Host-to-Device
    waiting_calls   how often the host waited: Num Calls of what has Synchronize in its Name
    """
    # TODO: a header names the columns of the rows below it, up to the next empty line. Times are in nanoseconds.
    # YOUR CODE HERE
    raise NotImplementedError()


# %%
if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # on shared cores, more threads would wait for other programs
    versions = [{**one, "command": [*one["command"], "--profile", one["profile"]]} for one in VERSIONS]
    print(pd.DataFrame(compare_versions(versions)).to_string(index=False))
    for file in ("stats_before.txt", "stats_after.txt"):
        if Path(file).exists():
            print(file, read_stats(file))
