# %% [markdown]
# # Part 4: memory
#
# Larger batches keep a GPU busier, but memory limits them. Most of it is what each layer keeps for the backward pass.
# There are two ways to keep less:
#
# | way | what it does | what it costs |
# |---|---|---|
# | checkpointing | keep the inputs of a few blocks, compute the rest again | a second forward pass of the blocks |
# | mixed precision | keep most of it in 16 bits | digits, where they matter little |
#
# How much each brings depends on shapes. So measure complete training steps at four batch sizes.

# %%
from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from given import SimpleNet, device_name, saved_mb

# %% [markdown]
# ## 4.1 Checkpointing that still trains every weight
#
# `checkpoint(block, x)`, as in the original lab, uses the old variant (`use_reentrant=True`). It gives no gradient to a
# block whose input needs none. Images need none, so no convolution ever trained, although the loss went down.


# %%
class MemoryEfficientNet(nn.Module):
    """A SimpleNet that keeps the inputs of its three convolutional blocks and nothing that is inside them."""

    def __init__(self, simple) -> None:
        """Take the layers of a SimpleNet as they are: its weights are shared, not copied."""
        # TODO: three blocks of conv, relu and pool (shrink in the last), then the classifier.
        # YOUR CODE HERE
        raise NotImplementedError()

    def forward(self, x) -> torch.Tensor:
        """Return the logits of images (batch, 3, height, width), which may need a gradient or not."""
        # TODO: checkpoint each block so that every weight gets its gradient, even if the images need none.
        # YOUR CODE HERE
        raise NotImplementedError()


# %% [markdown]
# ## 4.2 Mixed precision
#
# `torch.autocast(device.type)` runs convolutions and matrix products in 16 bits, and what needs more digits in 32. Put
# the forward pass and the loss under it, but not the backward pass. `torch.cuda.amp.autocast` switches itself off
# without a GPU, and only a warning says so.


# %%
def train_with_amp(model, loader, criterion, optimizer, device, scaler=None) -> list[float]:
    """Train for one epoch in mixed precision; return the loss of each batch, a list of numbers or a 1-D tensor.

    scaler: the caller's torch.amp.GradScaler. If it is None, make your own for float16, and use none for bfloat16;
    torch.get_autocast_dtype(device.type) says which one it is.
    """
    # TODO: autocast around model and criterion; scale, backward, step and update, in that order.
    # TODO: collect loss.detach(), and make numbers of the list once, after the loop: .item() at every step makes the
    # host wait for the GPU.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## 4.3 Memory and speed of a training step
#
# A step is forward, backward and the optimizer. Without the backward pass, the peak is not that of a training. The
# first steps are slow, so they do not count.

# %%
COLUMNS = ["net", "batch_size", "precision", "peak_memory_mb", "saved_mb", "throughput", "device"]


def measure_memory_and_speed(
    make_training, batch_size, device, use_amp=False, image_size=224, classes=10, steps=10
) -> dict[str, Any]:
    """Measure *steps* complete training steps on one batch of random images, after a warm-up of at least two.

    make_training(device) returns (model, criterion, optimizer) with fresh weights at each call. Images have
    *image_size* pixels a side, labels are below *classes*.
    Returns a dict:
        peak_memory_mb   MB (1e6 bytes) allocated at the peak of the measured steps on the GPU; None without one
        saved_mb         MB kept for the backward pass, by given.saved_mb, on a model that is thrown away
        throughput       images per second of the measured steps
    """
    # TODO: random images and labels on the device, before the clock starts; saved_mb under the same autocast.
    # TODO: with AMP, float16 needs a scaler here, too.
    # TODO: warm up with complete steps; on a GPU reset the peak after them, and synchronize around the clock.
    # YOUR CODE HERE
    raise NotImplementedError()


def benchmark_memory(nets, batch_sizes, device, folder=".", **options) -> list[dict[str, Any]]:
    """Measure each net at each batch size, in FP32 and then with AMP; return one row each, in that order.

    *nets* maps names to functions like make_training above. Pass *options* on to measure_memory_and_speed.
    A row has the names in COLUMNS: net (its name), batch_size, precision ("FP32" or "AMP"), what
    measure_memory_and_speed returns, device (its name).
    Writes memory_results.csv into folder.
    """
    # TODO: three loops, and one table.
    # YOUR CODE HERE
    raise NotImplementedError()


# %%
def make_simple(width):
    """Return a make_training of SimpleNets."""

    def make_training(device):
        net = SimpleNet(width).to(device)
        return net, nn.CrossEntropyLoss(), torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)

    return make_training


def make_efficient(width):
    """Return a make_training of MemoryEfficientNets."""

    def make_training(device):
        net, criterion, optimizer = make_simple(width)(device)
        return MemoryEfficientNet(net), criterion, optimizer

    return make_training


if __name__ == "__main__":
    torch.set_num_threads(1)  # on shared cores, more threads would wait for other programs
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    width, sizes, options = 64, (32, 64, 128, 256), {"image_size": 224, "steps": 20}
    if device.type == "cpu":
        width, sizes, options = 8, (4, 8, 16, 32), {"image_size": 64, "steps": 20}
    nets = {"SimpleNet": make_simple(width), "MemoryEfficientNet": make_efficient(width)}
    print(pd.DataFrame(benchmark_memory(nets, sizes, device, **options)).to_string(index=False))
