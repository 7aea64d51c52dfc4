# %% [markdown]
# # Bonus: look closer
#
# Four short challenges, each on its own. None of them needs a GPU.
#
# | challenge | the question |
# |---|---|
# | memory | will ResNet-50 fit, and how large a batch? Answered before anything is allocated |
# | profilers | what do `cProfile`, a line profiler and a timing decorator see, and what do they disturb? |
# | the CPU | what helps on a CPU: threads, another layout, 16 bits? |
# | several processes | when do two processes train exactly as one would? |

# %%
from __future__ import annotations

import cProfile
import functools
import inspect
import os
import pstats
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
import torch
import torch.distributed as dist
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler
from torchvision import models

from given import CPU_OPTIONS, Patterns, device_name, make_cpu_step

# %% [markdown]
# ## B.1 A memory plan
#
# A fake tensor has a shape, a dtype and a storage of a known size, but takes no memory. A training step on fake tensors
# shows to the byte what a real one keeps, as fast for a batch of a hundred thousand as for a batch of two.


# %%
def storage_bytes(tensors, known=()) -> int:
    """Return the bytes of the tensors' storages: one that several share counts once.

    The storage of a *known* tensor does not count.
    """
    # TODO: one storage is one Python object: compare id(tensor.untyped_storage()). data_ptr() is 0 for all fake ones.
    # YOUR CODE HERE
    raise NotImplementedError()


def plan_memory(make_training, batch_size, image_size) -> dict[str, int]:
    """Return the bytes that training on a batch needs, without allocating them.

    make_training() returns (model, criterion, optimizer), on fake tensors if it is called under FakeTensorMode.
    A batch is images (batch_size, 3, image_size, image_size) in float32 and labels (batch_size,) in int64.

    Returns a dict: parameters, buffers, gradients (after a backward pass), optimizer (its state after a step),
    activations (what is kept for the backward pass, and no other entry counts), batch, total.
    """
    # TODO: under FakeTensorMode, make the training and a batch, and take one step.
    # TODO: torch.autograd.graph.saved_tensors_hooks sees what is kept for the backward pass.
    # YOUR CODE HERE
    raise NotImplementedError()


def largest_batch(make_training, image_size, budget) -> int:
    """Return the largest batch size whose plan's total is at most *budget* bytes; 0 if not even one image fits."""
    # TODO: plan two images and three images. Every further image adds exactly the same number of bytes, so the rest is
    #       a division. (BatchNorm may not train on one image, so do not plan that; 1 may still be the answer.)
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## B.2 Profilers
#
# A profiler is a clock and a place where it is read. The three here differ in the place: around a function, at each
# call, at each line. For all three, the program must not notice, and the profiler must be gone afterwards.


# %%
def timed(function=None, *, synchronize=None):
    """Note how long each call of a function takes, in seconds, in the list `seconds` of the decorated function.

    @timed, or @timed(synchronize=torch.cuda.synchronize) for a device that works while the host goes on:
    `synchronize()` is called before each reading of the clock.

    Name, docstring, signature, result and exceptions are the function's own. If the function calls itself, only the
    outermost call is noted. A call that raises is noted too. A generator function is returned as it is: calling it
    computes nothing yet.
    """
    # TODO: functools.wraps; read time.perf_counter() before and after, in a finally; count how deep the calls are.
    # YOUR CODE HERE
    raise NotImplementedError()


def profile_calls(function, *args, **kwargs) -> tuple[Any, list[dict[str, Any]]]:
    """Return function(*args, **kwargs) and a row for each entry of the profile, the one with the most own time first.

    A row: function (its name), calls, own_seconds (without functions that it called), seconds (with them).
    Whatever happens, its profiler is off afterwards.
    """
    # TODO: cProfile.Profile(time.perf_counter), and pstats.Stats(profile).stats afterwards.
    # YOUR CODE HERE
    raise NotImplementedError()


def time_lines(function, *args, **kwargs) -> tuple[Any, list[dict[str, Any]]]:
    """Return function(*args, **kwargs) and a row for each of its lines that ran at least once, sorted by line number.

    A row: line (its number in the file), hits, seconds (until the next line began, with the functions it called).
    *function* never calls itself. Other functions are not traced. Afterwards sys.gettrace() is as before, even after
    an exception of *function*.
    """
    # TODO: sys.settrace gets a function that is called when a function is entered, and returns one for its lines.
    # TODO: time.perf_counter() at each "line" and at "return"; the time since the last one belongs to the line before.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## B.3 The CPU
#
# What helps a GPU may not help a CPU. Measure, and say in bonus_notes.md what helped, and why.

# %%
STUDY = ["option", "threads", "ms", "speedup", "device"]
REPEATS = 7


def study_cpu(make_step, threads, folder=".") -> list[dict[str, Any]]:
    """Time a training step for each option in CPU_OPTIONS and each number in *threads*; return and write the rows.

    make_step(option) returns a fresh step(). A row has the names in STUDY: option, threads, ms (median of REPEATS calls
    after one that does not count), speedup (ms of the first row / ms), device (the CPU's name). Rows are in the order
    of the options, and for each in the order of *threads*. torch uses as many threads afterwards as before.
    Writes cpu_study.csv and cpu_threads.png into folder.
    """

    # TODO: torch.set_num_threads for each row, a fresh step, one call to warm up, then REPEATS timed calls.
    # TODO: put the number of threads back, whatever happens.
    # TODO: a panel with the milliseconds of all rows, the unit on its axis.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## B.4 Several processes
#
# Each process has a copy of the model and a part of the data. After each backward pass the gradients are averaged, so
# all copies take the same step: that of one process with the whole batch.


# %%
def train_distributed(
    model, dataset, criterion, make_optimizer, batch_size, epochs, seed=0, folder="."
) -> dict[str, Any]:
    """Train as one of several processes, each of which calls this; the environment defines the group.

    Each process takes batches of *batch_size* samples in the order of a DistributedSampler with *seed*, shuffled anew
    in each epoch. make_optimizer(parameters) returns the optimizer, criterion(...) a batch's mean loss. All start
    from the weights of the process with rank 0, and *model* holds the trained weights at the end, in each of them.

    Returns {"losses": [the mean over all samples of all processes, for each epoch]}, the same in every process.
    Only the process with rank 0 writes: weights.pt, the model's state_dict, into folder.
    The process group is made here, with gloo, and destroyed at the end, whatever happens.
    """
    # TODO: init_process_group, DistributedDataParallel, DistributedSampler with set_epoch, destroy_process_group.
    # TODO: dist.all_reduce adds up numbers of all processes.
    # YOUR CODE HERE
    raise NotImplementedError()


# %%
BUDGET = 16_000_000_000  # bytes: a T4's


def make_resnet(name):
    """Return make_training() for `plan_memory`."""

    def make_training():
        net = models.get_model(name, weights=None, num_classes=10)
        return net, nn.CrossEntropyLoss(), torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)

    return make_training


def write_plans(folder="."):
    """Plan ResNet-18 and ResNet-50 at 224 pixels, and write memory_plan.csv."""
    rows = []
    for name, batch_size in (("resnet18", 32), ("resnet50", 32), ("resnet50", 128)):
        make_training = make_resnet(name)
        plan = plan_memory(make_training, batch_size, 224)
        fits = largest_batch(make_training, 224, BUDGET)
        rows.append({"model": name, "batch_size": batch_size, **plan, "largest_batch": fits})
    pd.DataFrame(rows).to_csv(Path(folder) / "memory_plan.csv", index=False)
    return rows


def try_distributed():
    """Train for two epochs as the process that torchrun started, and say how long it took."""
    torch.set_num_threads(1)  # each process has a core of its own
    torch.manual_seed(0)
    net = models.resnet18(num_classes=10, norm_layer=lambda channels: nn.GroupNorm(8, channels))
    batch_size = 32 // int(os.environ["WORLD_SIZE"])  # the same batch, divided
    start = time.perf_counter()
    told = train_distributed(
        net,
        Patterns(320),
        nn.CrossEntropyLoss(),
        lambda parameters: torch.optim.SGD(parameters, lr=0.01),
        batch_size,
        2,
    )
    if os.environ["RANK"] == "0":
        print(f"{os.environ['WORLD_SIZE']} processes: losses {told['losses']}, {time.perf_counter() - start:.1f} s")


def run_study():
    """Write cpu_study.csv and cpu_threads.png."""
    return study_cpu(make_cpu_step, [1, 2])


def run_profile():
    """Say where planning itself spends its time: the five hottest functions."""
    _, calls = profile_calls(plan_memory, make_resnet("resnet50"), 32, 224)
    return calls[:5]


def run_lines():
    """Say the same of plan_memory's lines: the five hottest."""
    _, lines = time_lines(plan_memory, make_resnet("resnet50"), 32, 224)
    return sorted(lines, key=lambda row: row["seconds"], reverse=True)[:5]


# %%
if __name__ == "__main__":
    if dist.is_torchelastic_launched():  # torchrun --nproc-per-node 2 bonus.py
        try_distributed()
    else:
        for run in (write_plans, run_study, run_profile, run_lines):
            try:
                print(pd.DataFrame(run()).to_string(index=False, na_rep=""))
            except NotImplementedError:
                print(f"{run.__name__}: something that it needs is not written yet")
