# %% [markdown]
# # Part 1: where the time goes
#
# `given/training_unoptimized.py` trains correctly but wastes most of its time. Before you change anything, a profile
# says how much, and on what.
#
# | tool | needs | shows |
# |---|---|---|
# | Nsight Systems (`nsys`) | an NVIDIA GPU | the whole program: CUDA, NVTX ranges, the operating system |
# | `torch.profiler` | nothing but torch | operators and ranges; with a GPU its kernels, copies and calls as well |
#
# You write command lines for the first, record a profile with the second, and answer eleven questions about it.

# %%
from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile, schedule

from given import covered, divided, gaps, load_events, queued
from given.training_unoptimized import train

# %% [markdown]
# ## 1.1 Nsight Systems, on the command line
#
# A command line is a list of words here, so nothing needs quotes. There are three: record, add up, export.


# %%
def nsys_commands(program: list[str], report: str) -> dict[str, list[str]]:
    """Return three command lines of nsys, each as a list of words.

    program  what is profiled: ["python", "-m", "given.training_unoptimized"]
    report   what the report is called, without its ending: "baseline"; nsys adds .nsys-rep

    capture  records CUDA and NVTX while *program* trains: from cudaProfilerStart on, which the program calls
    stats    prints the sums over kernels and over copies, as CSV
    export   writes the report as SQLite
    """
    # TODO: put options before the program. What comes after it is passed to the program.
    # TODO: without --capture-range, the start of Python is recorded too.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## 1.2 torch.profiler
#
# The script stays as it is: `train(on_step, batches)` calls `on_step()` at the end of each batch. A profiler needs no
# more.
#
#     batch     1      2        3 4 5 6 7 8 9 10
#               wait   warm-up  eight that are recorded    -> baseline_profile.gz

# %%
WAIT, WARM_UP, RECORDED = 1, 1, 8  # batches
PROFILE = "baseline_profile.gz"  # torch packs what ends in .gz


def profile_training(train, folder="."):
    """Profile a training: skip its first batch, warm up on the second, record the next eight.

    train(on_step=None, batches=20) trains, and calls on_step() at the end of each batch. Call train once.
    Writes baseline_profile.gz into *folder*, and returns what train returned.
    """
    # TODO: activities: the CPU, and CUDA where there is one; schedule(..., repeat=1), or a second cycle begins.
    # TODO: pass prof.step as on_step, so that it is called at the end of each batch.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## 1.3 Eleven questions
#
# A share is of a window: from the start of the first `ProfilerStep#...` to the end of the last. `given` reads the file
# (`load_events`) and adds up (`covered`, `gaps`, `queued`, `divided`). You decide which events count.


# %%
def analyse_profile(file) -> dict[str, Any]:
    """Answer eleven questions about a profile that torch.profiler wrote; the handout defines each answer.

    With a GPU (a kernel)      without one
    gpu_utilization_percent    operators_percent
    gaps_over_1ms              operator_gaps_over_1ms
    gap_cause                  gap_cause
    host_to_device_ms          None
    copy_overlap_percent       None
    data_wait_percent          data_wait_percent
    small_kernels_percent      small_operators_percent
    kernel_mean_us             operator_mean_us
    launching_percent          python_percent
    host_busy_percent          host_busy_percent
    longest_wait_ms            longest_wait_ms
    and reason: why some are None, in words; None if no answer is None.
    """
    # TODO: kernels that overlap count once; a gpu_user_annotation only repeats names of the CPU's.
    # TODO: gaps of operators: ignore operators that begin while the loader runs, so that each wait is one gap.
    # TODO: each moment without GPU work belongs to the first cause that fits, in the handout's order.
    # YOUR CODE HERE
    raise NotImplementedError()


def largest(parts: dict[str, float], *names: str) -> str:
    """Return the name of the largest of these parts."""
    return max(names, key=lambda name: parts[name])


def small(kind: str, events: list[Any]) -> dict[str, float]:
    """Return the share of those shorter than 10 us, and the mean duration."""
    times = [event.end - event.start for event in events]
    return {
        f"small_{kind}s_percent": 100 * sum(time < 10 for time in times) / len(times),
        f"{kind}_mean_us": sum(times) / len(times),
    }


# %%
if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", default=".")
    options, _ = parser.parse_known_args()  # a notebook has arguments of its own
    for name, words in nsys_commands(["python", "-m", "given.training_unoptimized"], "baseline").items():
        print(f"{name:8}", *words)
    torch.set_num_threads(1)  # on a CPU, more threads wait for each other
    train(batches=2)  # a warm-up
    profile_training(train, options.folder)
    answers = analyse_profile(Path(options.folder) / PROFILE)
    rounded = {name: round(value, 3) if isinstance(value, float) else value for name, value in answers.items()}
    (Path(options.folder) / "answers.json").write_text(json.dumps(rounded, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(rounded, indent=2))
