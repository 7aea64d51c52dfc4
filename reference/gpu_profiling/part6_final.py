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
    ### BEGIN SOLUTION
    ended = subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: status {ended.returncode}: {ended.stderr[-2000:]}")
    return json.loads(ended.stdout.strip().splitlines()[-1])
    ### END SOLUTION


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
    ### BEGIN SOLUTION
    events = load_events(file)
    ranges = [e for e in events if e.category == "user_annotation"]
    steps = [e for e in ranges if e.name.startswith("ProfilerStep#")]
    window = min(e.start for e in steps), max(e.end for e in steps)
    kernels = [e for e in events if e.category == "kernel"]
    busy = covered(kernels, window)
    if not kernels:
        loader = [e for e in ranges if e.name.startswith("enumerate(DataLoader)")]
        operators = [e for e in events if e.category == "cpu_op"]
        busy = divided(window, {"loader": loader, "work": operators})["work"]
    return 100 * busy / (window[1] - window[0])
    ### END SOLUTION


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
    ### BEGIN SOLUTION
    rows: list[dict[str, Any]] = []
    for one in versions:
        seen = run_version(one["command"])
        row = {"version": one["version"], "busy_percent": busy_percent(one["profile"])}
        row |= {name: seen[name] for name in FIGURES}
        row["speedup"] = row["throughput"] / (rows[0]["throughput"] if rows else row["throughput"])
        rows.append({**row, "device": seen["device"]})
    pd.DataFrame(rows, columns=COLUMNS).to_csv(Path(folder) / "final_results.csv", index=False)
    draw_comparison(rows, folder)
    return rows
    ### END SOLUTION


PANELS = {"busy_percent": "Busy (% of the steps)", "throughput": "Throughput (samples/s)", "speedup": "Speedup (x)"}


def draw_comparison(rows, folder=".") -> None:
    """Draw rows, any number of them, as final_comparison.png in folder: three panels, a bar for each version."""
    # TODO: one panel for each quantity in PANELS, with a bar for each version, its height taken from the row.
    ### BEGIN SOLUTION
    figure, axes = plt.subplots(1, 3, figsize=(14, 4.5), layout="constrained")
    for axis, (column, label) in zip(axes, PANELS.items(), strict=True):
        bars = axis.bar([row["version"] for row in rows], [row[column] for row in rows], width=0.6)
        axis.bar_label(bars, fmt="{:,.2f}", padding=2)
        axis.margins(y=0.12)
        axis.tick_params(axis="x", rotation=20)
        axis.set_ylabel(label)
    figure.suptitle(f"SimpleNet, {rows[0]['device']}")
    figure.savefig(Path(folder) / "final_comparison.png", dpi=130)
    plt.close(figure)
    ### END SOLUTION


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
    ### BEGIN SOLUTION
    found, header = dict.fromkeys(MEASURES, 0.0), []
    for cells in csv.reader(Path(file).read_text(encoding="utf-8").splitlines()):
        if cells[:1] == ["Time (%)"]:
            header = cells
        elif not header or len(cells) != len(header):
            header = []
        else:
            row = dict(zip(header, cells, strict=True))
            ms = float(row["Total Time (ns)"]) / 1e6
            if "Instances" in row and "Name" in row:
                found["launches"] += int(row["Instances"])
                found["kernel_ms"] += ms
            elif "HtoD" in row.get("Operation", "") or "Host-to-Device" in row.get("Operation", ""):
                found["copy_to_gpu_ms"] += ms
            elif "Num Calls" in row and "Synchronize" in row["Name"]:
                found["waiting_calls"] += int(row["Num Calls"])
    return found
    ### END SOLUTION


# %%
if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # on shared cores, more threads would wait for other programs
    versions = [{**one, "command": [*one["command"], "--profile", one["profile"]]} for one in VERSIONS]
    print(pd.DataFrame(compare_versions(versions)).to_string(index=False))
    for file in ("stats_before.txt", "stats_after.txt"):
        if Path(file).exists():
            print(file, read_stats(file))
