# %% [markdown]
# # Part 4: memory
#
# What fills a GPU in training is rarely the weights. It is what each layer keeps for the backward pass, and that grows
# with the batch. Two ways to need less of it:
#
# | way | what it does | what it costs |
# |---|---|---|
# | accumulation | several small batches, one step: a large batch's gradient, a small batch's memory | a GPU less busy |
# | checkpointing | keep a few segments' inputs; compute the rest again in the backward pass | a third more arithmetic |
#
# Neither may change the result. That is where both usually go wrong.

# %%
from __future__ import annotations

import time
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.utils.checkpoint import checkpoint

from given import device_name, make_loader, make_training, saved_mb, workload

# %% [markdown]
# ## 4.1 Gradient accumulation
#
# `backward()` adds to `.grad`. So call it for each batch of a group, and step once for the group. The step must be that
# of one batch that holds all samples of the group, and the loss of a large batch is a mean over **samples**. Mind the
# last batch, which is smaller, and the last group, which has fewer batches.


# %%
def train_epoch_with_accumulation(model, loader, criterion, optimizer, device, accumulation_steps=1) -> dict[str, Any]:
    """Train for one epoch; each group of accumulation_steps batches is one step, as if it were one large batch.

    The last group may have fewer batches, and is a step too. criterion returns the mean over the samples of a batch.
    Gradients from before the epoch are not used. Only one batch's graph is in memory at a time.

    Returns a dict:
        losses      the mean loss of each batch: a list of floats or a 1-D tensor
        loss        the mean over all samples of the epoch, not over batches
        accuracy    percent of the samples classified correctly, 0 to 100
        throughput  samples per second over whole iterations, waiting for data included
        data_wait   seconds spent waiting for the loader
    """
    # TODO: backward() for each batch, so that its graph can go; the optimizer steps once a group.
    # TODO: the gradient is the mean over the samples of the group, however many batches and samples it has.
    # TODO: take that step for the last group too.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## 4.2 Gradient checkpointing
#
# `torch.utils.checkpoint.checkpoint(segment, x, use_reentrant=False)` runs a segment without keeping what is inside,
# and runs it again when the backward pass gets there. Pass `use_reentrant=False`: the other variant gives no gradient
# to a segment whose input needs none, and images need none.
#
# Running a segment twice has a side effect: BatchNorm moves its running statistics twice. The gradients do not show
# it, but the trained model's answers in `eval()` do. `context_fn` gives two contexts: one for the first run, one for
# every later run. There is a run for each backward pass through the graph, so the second context must work several
# times.


# %%
class StatisticsHeld:
    """A context in which a segment runs without moving the running statistics of its BatchNorms.

    It can be entered again after it was left, because a segment runs again in each backward pass.
    """

    def __init__(self, segment) -> None:
        """Take the segment; change nothing yet."""
        self.segment = segment

    def __enter__(self) -> None:
        """Keep the running statistics of each BatchNorm from moving."""
        # TODO: remember what a run would change in each BatchNorm, and keep that from changing.
        # YOUR CODE HERE
        raise NotImplementedError()

    def __exit__(self, *error) -> None:
        """Put everything back. The run may have ended early, with the exception in *error*, which must go on."""
        # TODO: put back what __enter__ remembered.
        # YOUR CODE HERE
        raise NotImplementedError()


def run_checkpointed(segment, x) -> torch.Tensor:
    """Return segment(x), where segment is an nn.Module; in train(), keep nothing but x for the backward pass.

    Outputs, gradients (of every parameter, and of x if it requires one) and running statistics are those of segment(x),
    in train() and in eval(), with dropout or without, whether or not x requires a gradient, and however often
    backward() goes through the graph.
    """
    # TODO: checkpoint the segment; only its first run may move running statistics.
    # YOUR CODE HERE
    raise NotImplementedError()


class ResNet18Checkpointed(nn.Module):
    """A ResNet that keeps only the inputs of five segments: its stem (conv1 to maxpool) and layer1 to layer4."""

    def __init__(self, resnet) -> None:
        """Take the modules of a torchvision ResNet as they are: its weights are shared, not copied."""
        # TODO: conv1, bn1, relu and maxpool are the first segment; layer1 ... layer4 the others; avgpool and fc remain.
        # YOUR CODE HERE
        raise NotImplementedError()

    def forward(self, images) -> torch.Tensor:
        """Return what the ResNet returns, (batch, classes)."""
        # TODO: run_checkpointed for each of the five segments, then what remains.
        # YOUR CODE HERE
        raise NotImplementedError()


# %% [markdown]
# ## 4.3 What it saves, and what it costs
#
# Only a GPU shows a peak of its memory. What autograd keeps for the backward pass can be counted anywhere:
# `given.saved_mb` adds it up. The two differ: while a segment is computed again, all of it is in memory.

# %%
COLUMNS = ["model", "throughput", "epoch_time", "peak_memory_mb", "saved_mb", "loss", "slowdown", "device"]
PANELS = {
    "throughput": "Throughput (samples/s)",
    "peak_memory_mb": "Peak memory (MB)",
    "saved_mb": "Kept for the backward pass (MB)",
}


def compare_checkpointing(make_training, loader, device, folder=".") -> list[dict[str, Any]]:
    """Train one measured epoch of the standard model, then one with checkpointing; return and write the two rows.

    make_training(device) returns (model, criterion, optimizer) with the same fresh weights at each call; the model is
    a ResNet.

    A row has the names in COLUMNS: model ("Standard", "With Checkpointing"), throughput (samples/s), epoch_time (s),
    peak_memory_mb (None without a GPU), saved_mb (MB kept for the backward pass of the loader's first batch), loss
    (mean over all samples of the epoch), slowdown (throughput of Standard / throughput), device (its name).
    Writes checkpointing_results.csv and checkpointing_comparison.png into folder.
    """
    # TODO: warm each model up with a few batches, take saved_mb of it for the loader's first batch, and throw it away.
    # TODO: measure one epoch from fresh weights, with train_epoch_with_accumulation.
    # TODO: one panel per quantity in PANELS, one bar per row; leave the peak's out without a GPU.
    # YOUR CODE HERE
    raise NotImplementedError()


# %%
if __name__ == "__main__":
    torch.set_num_threads(1)  # on shared cores, more threads would wait for other programs
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    rows = compare_checkpointing(make_training, make_loader(**workload(device)), device)
    print(pd.DataFrame(rows).to_string(index=False))
