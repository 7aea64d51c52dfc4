# %% [markdown]
# # Part 3: mixed precision
#
# A GPU multiplies 16-bit matrices several times faster than 32-bit ones, and a 16-bit activation takes half the memory.
# Mixed precision uses 16 bits where that is safe and 32 bits where it is not:
#
# | what | precision | who does it |
# |---|---|---|
# | convolutions, matrix products | 16 bits | `torch.autocast` |
# | losses; on a GPU also softmax and large sums | 32 bits | `torch.autocast` |
# | weights, gradients of weights, optimizer | 32 bits | you: leave them as they are |
#
# You write two functions: the training loop, and a fair comparison of it with FP32.

# %%
from __future__ import annotations

import time
from itertools import islice
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
import torch

from given import device_name, make_loader, make_training, workload

# %% [markdown]
# ## 3.1 The training loop
#
# Float16 has few exponent bits: gradients below 6e-8 become zero. A gradient scaler multiplies the loss by a large
# number. By the chain rule, this multiplies every gradient, too. The scaler divides the gradients by the same number
# before the optimizer uses them. If a gradient overflows, the scaler skips the step and halves its number. The order is
# always the same:
#
#     scale(loss).backward()  ->  unscale_  ->  clip  ->  step  ->  update
#
# Bfloat16 has the exponent of float32, at the cost of digits. It needs no scaler, so `scaler` may be None.


# %%
def train_epoch_amp(
    model, loader, criterion, optimizer, device, use_amp=False, scaler=None, max_grad_norm=None
) -> dict[str, Any]:
    """Train for one epoch, in mixed precision when use_amp is set.

    scaler: a torch.amp.GradScaler made by the caller, or None; in FP32 it is not used.
    max_grad_norm: when given, clip the norm of the true gradients to it, in FP32 too.

    Returns a dict:
        losses      the loss of each batch: a list of floats or a 1-D tensor
        loss        their mean
        accuracy    percent of the samples classified correctly, 0 to 100
        throughput  samples per second over whole iterations, waiting for data included
        data_wait   seconds spent waiting for the loader
    """
    # TODO: the forward pass and the loss run under torch.autocast(device.type), the backward pass outside of it.
    # TODO: with a scaler, follow its order; clip what has been unscaled.
    # TODO: keep losses and correct answers as detached tensors; .item() at every step makes the host wait for the GPU.
    # TODO: start the clock before the first batch is fetched, stop it after the results are on the host.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## 3.2 A fair comparison
#
# The first steps are slow for reasons that do not return: memory is allocated, kernels are chosen. So warm up, on a
# training that is thrown away; the measured one must start from the fresh weights. Whatever is still alive from the
# warm-up counts as memory of the measured epoch, so let go of it before resetting the peak.

# %%
COLUMNS = ["precision", "throughput", "epoch_time", "peak_memory_mb", "accuracy", "speedup", "device"]
PANELS = {
    "throughput": "Throughput (samples/s)",
    "peak_memory_mb": "Peak memory (MB)",
    "speedup": "Speedup over FP32 (x)",
}


def compare_precision(make_training, loader, device, folder=".") -> list[dict[str, Any]]:
    """Train one measured epoch in FP32, then one in AMP; return the two rows, and write them as a table and a figure.

    make_training(device) returns (model, criterion, optimizer) with the same fresh weights at each call.

    A row has the names in COLUMNS: precision ("FP32", "AMP"), throughput (samples/s), epoch_time (s),
    peak_memory_mb (None without a GPU), accuracy (%), speedup (throughput / throughput of FP32), device (its name).
    Writes amp_results.csv and amp_comparison.png into folder.
    """
    # TODO: warm both precisions up with a few batches on a model that is not measured, and keep nothing of it.
    # TODO: measure one epoch from fresh weights; AMP gets a torch.amp.GradScaler(device.type).
    # TODO: write plain numbers: 2.1, not "2.10x".
    # TODO: one panel per quantity in PANELS, one bar per row; leave the memory panel out without a GPU.
    # YOUR CODE HERE
    raise NotImplementedError()


# %%
if __name__ == "__main__":
    torch.set_num_threads(1)  # on shared cores, more threads would wait for other programs
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    rows = compare_precision(make_training, make_loader(**workload(device)), device)
    print(pd.DataFrame(rows).to_string(index=False))
