# %% [markdown]
# # Part 6: what it was worth
#
# One program has options for AMP, accumulation and loader workers. You write two files.
#
# | file | what it does |
# |---|---|
# | `train_distributed.py` | trains, in each process of a group; rank 0 writes time, memory and accuracy of the group |
# | `part6_final.py`, this one | starts it in five configurations; makes the table, the plot and the traces |
#
# Every configuration trains on the same samples in steps of the same size. So a faster row does the same work in less
# time.

# %%
from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
import torch

from given import device_name

# %% [markdown]
# ## 6.1 Five configurations
#
# Each changes one thing of the baseline, and the last one changes all of them. With ACCUMULATE batches in a step, each
# batch is ACCUMULATE times smaller, so a step has as many samples as without.

# %%
EPOCHS = 4  # the first does not count
ACCUMULATE = 4
WORKERS = 2
CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "Baseline": {},
    "+ AMP": {"amp": True},
    "+ Grad Accum": {"accumulate": ACCUMULATE},
    "+ DataLoader": {"workers": WORKERS},
    "+ All": {"amp": True, "accumulate": ACCUMULATE, "workers": WORKERS},
}
COLUMNS = ["optimization", "throughput", "speedup", "memory_mb", "accuracy", "steps", "device"]
PANELS = {"throughput": "Throughput (samples/s)", "speedup": "Speedup (x)", "memory_mb": "Memory (MB)"}


def compare_configurations(run, samples, batch_size, device, folder=".") -> list[dict[str, Any]]:
    """Train in each of the five configurations, one after the other; return the rows, write and draw them in folder.

    run(amp=, accumulate=, workers=, samples=, batch_size=, epochs=) trains, and returns what train_distributed.py
    writes: a dict with steps, seconds (of each epoch), peak_mb (of each process), accuracy and more.
    batch_size is the batch of one process without accumulation; with accumulation, run gets batch_size // ACCUMULATE.
    A row has the names in COLUMNS: optimization (as in CONFIGURATIONS), throughput (samples / the median of seconds
    after the first), speedup (throughput / that of Baseline), memory_mb (the largest of all processes), accuracy and
    steps as the run returned them, device (its name).

    ValueError before the first run if ACCUMULATE does not divide batch_size. Writes distributed_results.csv, and
    distributed_comparison.png: three panels, throughput, speedup and memory_mb, with a bar for each row.
    """
    # TODO: every run has the same `samples` and epochs, and its steps have equally many samples.
    ### BEGIN SOLUTION
    if batch_size % ACCUMULATE:
        raise ValueError(f"a batch of {batch_size} does not divide into {ACCUMULATE} equal ones")
    rows: list[dict[str, Any]] = []
    for name, changed in CONFIGURATIONS.items():
        options = {"amp": False, "accumulate": 1, "workers": 0, **changed}
        result = run(**options, samples=samples, batch_size=batch_size // options["accumulate"], epochs=EPOCHS)
        throughput = samples / statistics.median(result["seconds"][1:])
        rows.append(
            {
                "optimization": name,
                "throughput": throughput,
                "speedup": throughput / (rows[0]["throughput"] if rows else throughput),
                "memory_mb": max(result["peak_mb"]),
                "accuracy": result["accuracy"],
                "steps": result["steps"],
                "device": device_name(device),
            }
        )
    pd.DataFrame(rows, columns=COLUMNS).to_csv(Path(folder) / "distributed_results.csv", index=False)
    figure, axes = plt.subplots(1, 3, figsize=(14, 4.5), layout="constrained")
    for axis, (column, label) in zip(axes, PANELS.items(), strict=True):
        bars = axis.bar([row["optimization"] for row in rows], [row[column] for row in rows], width=0.6)
        axis.bar_label(bars, fmt="{:,.3g}", padding=2)
        axis.margins(y=0.12)
        axis.tick_params(axis="x", rotation=20)
        axis.set_ylabel(label)
    figure.suptitle(rows[0]["device"])
    figure.savefig(Path(folder) / "distributed_comparison.png", dpi=130)
    plt.close(figure)
    return rows
    ### END SOLUTION


# %% [markdown]
# ## 6.2 More processes than you have
#
# A ring of n processes takes 2 (n - 1) messages for each bucket, one after the other, and each message begins with a
# latency. While backward computes, it hides some of this communication. The rest makes the step longer.


# %%
def predict_step(processes, compute_ms, buckets, latency_ms, bytes_per_ms, hideable_ms) -> dict[str, float]:
    """Predict the step of n *processes* on a ring; *buckets* is a list: the bytes of each bucket of gradients.

    Communication is the sum over all buckets of (2 (n - 1) * latency_ms + 2 (n - 1) / n * bytes / bytes_per_ms). Up to
    hideable_ms of it runs beside backward, and the rest is added to compute_ms.
    latency_ms is the latency of one message: half the latency of a whole all_reduce between two processes.

    step_ms           in weak scaling, where each process computes for compute_ms
    efficiency        of that step: compute_ms / step_ms
    strong_efficiency if n processes share the work of one, so that each computes for compute_ms / n and hides up to
                      hideable_ms / n; communication stays the same: (compute_ms / n) / the time of that step
    """
    # TODO: with one process, the communication takes no time.
    ### BEGIN SOLUTION
    rounds = 2 * (processes - 1)
    sent = sum(size / bytes_per_ms for size in buckets) * rounds / processes
    communication = len(buckets) * rounds * latency_ms + sent
    step = compute_ms + max(0.0, communication - hideable_ms)
    share = compute_ms / processes
    strong = share + max(0.0, communication - hideable_ms / processes)
    return {"step_ms": step, "efficiency": compute_ms / step, "strong_efficiency": share / strong}
    ### END SOLUTION


# %% [markdown]
# ## 6.3 The experiment
#
# `launch` lets torchrun start the program, once for each configuration.

# %%
PROGRAM = "train_distributed.py"
HERE = Path(__file__).parent


def launch(program=PROGRAM, **options) -> dict[str, Any]:
    """Start a program in as many processes as there are GPUs, but at least two; return the numbers that it writes."""
    words = []
    for name, value in options.items():
        if value is not False:
            words += [f"--{name.replace('_', '-')}"] + [str(value)] * (value is not True)
    processes = str(max(2, torch.cuda.device_count()))
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", processes]
    one_thread = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(HERE)}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "result.json"
        subprocess.run([*torchrun, str(HERE / program), *words, "--result", str(file)], check=True, env=one_thread)
        return json.loads(file.read_text(encoding="utf-8"))


def main() -> None:
    """Make the table, the plot and both traces; print predictions from example arguments."""
    on_gpu = torch.cuda.device_count() > 1  # two processes need two
    device = torch.device("cuda" if on_gpu else "cpu")
    samples, batch_size = (16384, 256) if device.type == "cuda" else (1280, 32)
    rows = compare_configurations(launch, samples, batch_size, device)
    print(pd.DataFrame(rows).to_string(index=False))
    every = {**CONFIGURATIONS["+ All"], "samples": samples, "batch_size": batch_size // ACCUMULATE}
    launch("baseline/train_distributed.py", **every, profile="before_trace.json.gz")
    launch(**every, profile="after_trace.json.gz")
    # The arguments after processes are examples: put numbers that you measured or assumed in their place.
    for processes in (1, 2, 8, 64):
        print(processes, predict_step(processes, 340.0, [273_448, 66_560], 1.25, 8_500.0, 20.0))


if __name__ == "__main__":
    main()
