# %% [markdown]
# # Part 1: baseline and profile
#
# Before you make anything faster, answer three questions, each with its tool:
#
# | question | tool |
# |---|---|
# | does it learn? | losses and accuracy, from the same loop that is timed |
# | how fast is it? | a clock that runs through the whole epoch, and a second one for the wait for data |
# | where does the time go? | `torch.profiler`, with a schedule, named ranges and a trace |
#
# You write the data, the model, the training loop, the profiled loop, and a reader that answers four questions of a
# trace.

# %%
from __future__ import annotations

import argparse
import json
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile, record_function, schedule
from torch.utils.data import DataLoader, Dataset, Subset
from torchvision import datasets, models, transforms

from given import Pictures, device_name, load_events, own_times, workload

MEAN, STD = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)  # of CIFAR-10, per colour, on a scale of 0 to 1

# %% [markdown]
# ## 1.1 Data and model
#
# A picture is cropped, resized and perhaps mirrored anew each time it is read, so no two epochs see the same pixels.
# The CPU does that work, and you will find it in the profile.


# %%
def make_transforms(image_size: int = 32) -> transforms.Compose:
    """Return what turns a PIL picture into a training sample: float32, (3, image_size, image_size).

    In this order: a random part of the picture resized to image_size (RandomResizedCrop, as it is by default), mirrored
    left to right half the time, as a tensor from 0 to 1, normalised by MEAN and STD.
    """
    # TODO: four transforms in a transforms.Compose.
    # YOUR CODE HERE
    raise NotImplementedError()


def make_data(data: str = "auto", image_size: int = 32, folder: str = "data") -> Dataset[Any]:
    """Return the training set: samples of make_transforms(image_size), with their classes.

    data="cifar10"    the 50,000 training pictures of torchvision's CIFAR10, downloaded into folder where needed
    data="synthetic"  given.Pictures: 50,000 pictures in the same form; touches no network
    data="auto"       CIFAR-10, or the synthetic set if the download fails
    Anything else is a ValueError.
    """
    # TODO: datasets.CIFAR10(...); without a network it raises an OSError or a RuntimeError.
    # TODO: for "cifar10", let that error through, and never return other data.
    # YOUR CODE HERE
    raise NotImplementedError()


def make_model(weights: models.ResNet18_Weights | None = None, classes: int = 10) -> models.ResNet:
    """Return torchvision's ResNet-18 with as many outputs as there are classes.

    weights: None for fresh ones, which downloads nothing; or a member of models.ResNet18_Weights. Then all layers keep
    these weights except the last (fc), which was trained for 1000 classes.
    """
    # TODO: torchvision refuses num_classes together with pretrained weights; the last layer can be replaced.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## 1.2 The training loop, and an honest clock
#
# A loop over a loader does two things in turn: it waits for a batch, and it works on it. A clock that is started inside
# the loop, once the batch is there, does not see the wait, so a slow loader seems to cost nothing.
#
#     |-- wait --|---- work ----|-- wait --|---- work ----|
#     ^ start                                             ^ stop: throughput = samples / (stop - start)


# %%
def train_epoch(model, loader, criterion, optimizer, device) -> dict[str, Any]:
    """Train for one epoch in FP32.

    Returns a dict:
        losses      the loss of each batch: a list of floats or a 1-D tensor
        loss        their mean
        accuracy    percent of the samples classified correctly, 0 to 100
        throughput  samples per second over whole iterations, waiting for data included
        data_wait   seconds spent waiting for the loader
    """
    # TODO: call model.train(). For each batch: move it, clear the gradients, forward, loss, backward, step.
    # TODO: keep losses and correct answers as detached tensors; .item() at every step makes the host wait for the GPU.
    # TODO: start the clock before the first batch is fetched, stop it after the results are on the host.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## 1.3 The profile
#
# A profiler records every operator, so it is switched on for a few batches only. The schedule says which:
#
#     batch     0      1        2  3  4  5  6  7  8  9  10  11
#               wait   warm-up  ten that are recorded           -> baseline_trace.json.gz
#
# `prof.step()` at the end of each batch moves it on. Ranges give a name to a stretch of your own code.

# %%
WAIT, WARM_UP, RECORDED = 1, 1, 10  # batches
TRACE = "baseline_trace.json.gz"  # torch packs it, because the name ends in .gz: less than 1 MB instead of 10


def profile_training(model, loader, criterion, optimizer, device, folder=".") -> profile:
    """Train on the first 12 batches under torch.profiler: 1 skipped, 1 of warm-up, 10 recorded.

    Named ranges, once in each batch: "forward" (model and loss), "backward", "optimizer_step".
    Writes the trace of the ten batches to baseline_trace.json.gz in folder, and returns the profiler.
    """
    # TODO: activities: the CPU, and CUDA if that is where it runs; schedule(..., repeat=1), or it begins again.
    # TODO: call model.train(). For each batch: record_function around each of the three, then prof.step().
    # TODO: on_trace_ready exports the trace when batch 11, the last recorded one, is done.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## 1.4 Four questions
#
# A share needs a window. Here it is the stretch from the start of the first `ProfilerStep#...` to the end of the last.
# Kernels may run side by side on several streams, so "the GPU was busy" is the time in which *at least one* ran: adding
# up their durations can give more than 100 %.
#
# `load_events(file)` gives the events of a trace, `own_times(events)` the time that is each operator's own.


# %%
def analyse_trace(file) -> dict[str, Any]:
    """Answer four questions of a trace. Shares are percent of the steps' window.

    data_loading_percent     percent of the window spent waiting for the loader (user_annotation
                             "enumerate(DataLoader)...")
    gpu_utilization_percent  percent of the window in which a kernel ran; None if the trace has no kernel
    gpu_utilization_band     "low" below 50 %, "high" above 80 %, else "medium"; None if there is no kernel
    host_to_device_ms        durations of copies to the GPU ("Memcpy HtoD ...", a gpu_memcpy), added up, ms in the whole
                             trace; None if there is no kernel
    top_operators            names of the three operators (cpu_op) with the most own time, the largest first
    reason                   why some other values are None, in words; None if all of them are there
    """
    # TODO: the window: user_annotations named ProfilerStep#...; a gpu_user_annotation only repeats their names.
    # TODO: for the two shares, cut off what lies outside the window, and count overlapping time once.
    # YOUR CODE HERE
    raise NotImplementedError()


def band(utilization: float) -> str:
    """Return the word for a share of time in percent."""
    return "low" if utilization < 50 else "high" if utilization > 80 else "medium"


# %%
if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="auto", choices=["auto", "cifar10", "synthetic"])
    options, _ = parser.parse_known_args()  # a notebook has arguments of its own
    torch.set_num_threads(1)  # on shared cores, more threads would wait for other programs
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    size = workload(device)
    batch_size, batches = size["batch_size"], size["batches"]

    dataset = Subset(make_data(options.data, size["image_size"]), range(batch_size * batches))
    loader = DataLoader(dataset, batch_size, shuffle=True, num_workers=0)  # in this process: the baseline
    model, criterion = make_model().to(device), torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)

    train_epoch(model, islice(loader, 3), criterion, optimizer, device)  # a warm-up
    metrics = train_epoch(model, loader, criterion, optimizer, device)
    named = {name: round(value, 3) for name, value in metrics.items() if name != "losses"}
    print(f"{device_name(device)}, {batches} batches of {batch_size}: {named}")

    prof = profile_training(model, loader, criterion, optimizer, device)
    print(prof.key_averages().table(sort_by=f"self_{device.type}_time_total", row_limit=10, max_name_column_width=40))
    answers = analyse_trace(TRACE)
    Path("answers.json").write_text(json.dumps(answers, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(answers, indent=2))
