# %% [markdown]
# # Part 5: torch.compile
#
# Eager PyTorch runs one operation after the other, each a call from Python and a kernel of its own. `torch.compile`
# records the operations of a forward pass once, as a graph, and builds code for all of it, and for its backward pass.
# Then the graph runs instead.
#
# | what | when it is paid for |
# |---|---|
# | recording and building: seconds to minutes | the first time, again for a second shape, again under autocast |
# | running what was built | at every step |
#
# A measured epoch must only run what was built. That is what a warm-up is for, and where most comparisons go wrong.

# %%
from __future__ import annotations

import copy
import time
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
import torch
from torch import nn

from given import device_name, make_loader, make_training, quietest, workload

# %% [markdown]
# ## 5.1 A forward pass that can be recorded
#
# If Python must know the value of a tensor to go on, the graph ends there: at `.item()`, at an `if` on a tensor, at
# `print`. Another graph begins after it, and Python runs in between at every step. `SpikeGuard` in
# `baseline/part5_compile.py` breaks its graph in this way. Write it again with tensors alone.


# %%
class SpikeGuard(nn.Module):
    """Scale a batch down to a limit if its mean absolute value is above it; count such batches."""

    def __init__(self, limit=4.0) -> None:
        """Start the count: int(guard.spikes) is the number of batches that were scaled."""
        # TODO: keep the limit, and a count that a graph can change.
        # YOUR CODE HERE
        raise NotImplementedError()

    def forward(self, x) -> torch.Tensor:
        """Return x, or x * (limit / size) if its size is above the limit; no gradient goes through size."""
        # TODO: as the baseline does, in one graph: no .item(), no `if` on values of x, no Python counter.
        # YOUR CODE HERE
        raise NotImplementedError()


# %% [markdown]
# ## 5.2 Compile, warm up, train
#
# Nothing is built when `torch.compile` is called. The forward graph is built at the first call, and the backward graph
# at the first `backward()`. Both are built again for a second shape, and under autocast. In `eval()` or under
# `no_grad()`, another forward graph is built, which training does not use. So a warm-up takes complete steps, in the
# modes and with the shapes of the epoch that follows, and leaves the training as it was.


# %%
def compile_model(model, backend="inductor") -> Any:
    """Return model compiled as one graph by backend; nothing is copied. A model that breaks the graph is an error.

    backend is what torch.compile takes: a name, or a function. The error may come at the first call.
    """
    # TODO: torch.compile, and no graph breaks.
    # YOUR CODE HERE
    raise NotImplementedError()


def train_epoch_compiled(model, loader, criterion, optimizer, device, use_amp=False) -> dict[str, Any]:
    """Train for one epoch, whether model is compiled or not. With use_amp, use torch.autocast in bfloat16.

    Returns a dict:
        losses      the mean loss of each batch: a list of floats or a 1-D tensor
        loss        the mean over all samples of the epoch
        accuracy    percent of the samples classified correctly, 0 to 100
        throughput  samples per second over whole iterations, waiting for data included
        data_wait   seconds spent waiting for the loader
    """
    # TODO: the plain loop; with use_amp, forward pass and loss under torch.autocast in bfloat16.
    # YOUR CODE HERE
    raise NotImplementedError()


STEPS = 3  # of the warm-up, for each size of a batch; you may change it


def warm_up(model, loader, criterion, optimizer, device, use_amp=False) -> None:
    """Build everything that an epoch over loader needs; leave weights, statistics and optimizer as they were.

    loader is a DataLoader; its last batch may be smaller than the others.
    """
    # TODO: complete steps (forward, loss, backward, optimizer) in the modes of the epoch, for each size of a batch.
    # TODO: put back what they changed: parameters, running statistics, the optimizer's state. You need not put back
    # the generator of random numbers, or the order of a loader that shuffles.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## 5.3 What it gains, and what it costs first
#
# Do not mix two numbers: the throughput of a compiled epoch, and the seconds of the cold start before it.

# %%
COLUMNS = ["model", "throughput", "epoch_time", "compile_s", "loss", "speedup", "device"]
PANELS = {"throughput": "Throughput (samples/s)", "compile_s": "Cold start (s)"}


def compare_compile(
    make_training, loader, device, folder=".", backend="inductor", use_amp=False
) -> list[dict[str, Any]]:
    """Train one measured epoch of the model as it is, then one of the compiled model; return and write the two rows.

    make_training(device) returns (model, criterion, optimizer) with the same fresh weights at each call.

    A row has the names in COLUMNS: model ("Eager", "Compiled"), throughput (samples/s), epoch_time (s), compile_s
    (seconds that the warm-up of the compiled model took; 0 for Eager), loss (mean of the epoch), speedup (throughput /
    throughput of Eager), device (its name).
    Writes compile_results.csv and compile_comparison.png into folder.
    """
    # TODO: warm each model up, and time the warm-up of the compiled one.
    # TODO: then measure one epoch of each of these models, with train_epoch_compiled.
    # TODO: one panel per quantity in PANELS, one bar per row.
    # YOUR CODE HERE
    raise NotImplementedError()


# %%
if __name__ == "__main__":
    from torch._inductor.utils import fresh_cache

    torch.set_num_threads(1)  # on shared cores, more threads would wait for other programs
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    def experiment(folder):
        torch.compiler.reset()  # otherwise the second run would find what the first has built
        with fresh_cache():  # otherwise inductor would read its cache on disk: no cold start
            return compare_compile(make_training, make_loader(**workload(device)), device, folder)

    rows = quietest(experiment)
    print(pd.DataFrame(rows).to_string(index=False))
