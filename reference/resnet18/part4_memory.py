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
    ### BEGIN SOLUTION
    model.train()
    optimizer.zero_grad()
    losses, sizes, group, data_wait = [], [], 0, 0.0
    correct = torch.zeros((), dtype=torch.int64, device=device)

    def step(samples):
        for parameter in model.parameters():
            if parameter.grad is not None:
                parameter.grad /= samples  # the sum over the samples becomes their mean
        optimizer.step()
        optimizer.zero_grad()

    start = fetch = time.perf_counter()
    for index, (images, labels) in enumerate(loader):
        data_wait += time.perf_counter() - fetch
        images, labels = images.to(device, non_blocking=True), labels.to(device, non_blocking=True)

        outputs = model(images)
        loss = criterion(outputs, labels)
        (loss * len(labels)).backward()  # a sum over samples, so that batches of any size add up
        group += len(labels)
        if (index + 1) % accumulation_steps == 0:
            step(group)
            group = 0

        losses.append(loss.detach())
        sizes.append(len(labels))
        correct += (outputs.detach().argmax(dim=1) == labels).sum()
        fetch = time.perf_counter()
    if group:
        step(group)  # the tail

    losses = torch.stack(losses).tolist()  # the only wait for the device, once
    samples = sum(sizes)
    accuracy = 100 * correct.item() / samples
    seconds = time.perf_counter() - start
    return {
        "losses": losses,
        "loss": sum(loss * size for loss, size in zip(losses, sizes, strict=True)) / samples,
        "accuracy": accuracy,
        "throughput": samples / seconds,
        "data_wait": data_wait,
    }
    ### END SOLUTION


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
        ### BEGIN SOLUTION
        norms = [norm for norm in self.segment.modules() if isinstance(norm, _BatchNorm) and norm.track_running_stats]
        self.before = [(norm, norm.momentum, norm.num_batches_tracked.clone()) for norm in norms]
        for norm in norms:
            norm.momentum = 0.0  # new = (1 - momentum) * old + momentum * batch
        ### END SOLUTION

    def __exit__(self, *error) -> None:
        """Put everything back. The run may have ended early, with the exception in *error*, which must go on."""
        # TODO: put back what __enter__ remembered.
        ### BEGIN SOLUTION
        for norm, momentum, batches in self.before:
            norm.momentum = momentum
            norm.num_batches_tracked.copy_(batches)
        ### END SOLUTION


def run_checkpointed(segment, x) -> torch.Tensor:
    """Return segment(x), where segment is an nn.Module; in train(), keep nothing but x for the backward pass.

    Outputs, gradients (of every parameter, and of x if it requires one) and running statistics are those of segment(x),
    in train() and in eval(), with dropout or without, whether or not x requires a gradient, and however often
    backward() goes through the graph.
    """
    # TODO: checkpoint the segment; only its first run may move running statistics.
    ### BEGIN SOLUTION
    return checkpoint(segment, x, use_reentrant=False, context_fn=lambda: (nullcontext(), StatisticsHeld(segment)))
    ### END SOLUTION


class ResNet18Checkpointed(nn.Module):
    """A ResNet that keeps only the inputs of five segments: its stem (conv1 to maxpool) and layer1 to layer4."""

    def __init__(self, resnet) -> None:
        """Take the modules of a torchvision ResNet as they are: its weights are shared, not copied."""
        # TODO: conv1, bn1, relu and maxpool are the first segment; layer1 ... layer4 the others; avgpool and fc remain.
        ### BEGIN SOLUTION
        super().__init__()
        stem = nn.Sequential(resnet.conv1, resnet.bn1, resnet.relu, resnet.maxpool)
        self.segments = nn.ModuleList([stem, resnet.layer1, resnet.layer2, resnet.layer3, resnet.layer4])
        self.head = nn.Sequential(resnet.avgpool, nn.Flatten(1), resnet.fc)
        ### END SOLUTION

    def forward(self, images) -> torch.Tensor:
        """Return what the ResNet returns, (batch, classes)."""
        # TODO: run_checkpointed for each of the five segments, then what remains.
        ### BEGIN SOLUTION
        x = images
        for segment in self.segments:
            x = run_checkpointed(segment, x)
        return self.head(x)
        ### END SOLUTION


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
    ### BEGIN SOLUTION
    on_gpu = device.type == "cuda"

    def make(checkpointed):
        model, criterion, optimizer = make_training(device)
        return ResNet18Checkpointed(model) if checkpointed else model, criterion, optimizer

    def warm_up(checkpointed):
        model, criterion, optimizer = make(checkpointed)  # gone when warm_up returns
        train_epoch_with_accumulation(model, islice(loader, 3), criterion, optimizer, device)
        images, _ = next(iter(loader))
        return saved_mb(model, images.to(device))

    def measure(checkpointed):
        model, criterion, optimizer = make(checkpointed)
        if on_gpu:
            torch.cuda.reset_peak_memory_stats(device)
        start = time.perf_counter()
        metrics = train_epoch_with_accumulation(model, loader, criterion, optimizer, device)
        epoch_time = time.perf_counter() - start
        return metrics, epoch_time, torch.cuda.max_memory_allocated(device) / 1e6 if on_gpu else None

    rows: list[dict[str, Any]] = []
    for name, checkpointed in (("Standard", False), ("With Checkpointing", True)):
        saved = warm_up(checkpointed)
        metrics, epoch_time, peak = measure(checkpointed)
        throughput = metrics["throughput"]
        slowdown = rows[0]["throughput"] / throughput if rows else 1.0
        values = (name, throughput, epoch_time, peak, saved, metrics["loss"], slowdown, device_name(device))
        rows.append(dict(zip(COLUMNS, values, strict=True)))
    pd.DataFrame(rows, columns=COLUMNS).to_csv(Path(folder) / "checkpointing_results.csv", index=False)

    panels = {column: label for column, label in PANELS.items() if rows[0][column] is not None}
    figure, axes = plt.subplots(1, len(panels), figsize=(4 * len(panels), 4), layout="constrained")
    for axis, (column, label) in zip(axes, panels.items(), strict=True):
        bars = axis.bar([row["model"] for row in rows], [row[column] for row in rows], color=["C7", "C0"], width=0.6)
        axis.bar_label(bars, fmt="{:,.2f}", padding=2)
        axis.margins(y=0.12)
        axis.set_ylabel(label)
    figure.suptitle(f"Gradient checkpointing, {rows[0]['device']}")
    figure.savefig(Path(folder) / "checkpointing_comparison.png", dpi=150)
    plt.close(figure)
    return rows
    ### END SOLUTION


# %%
if __name__ == "__main__":
    torch.set_num_threads(1)  # on shared cores, more threads would wait for other programs
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    rows = compare_checkpointing(make_training, make_loader(**workload(device)), device)
    print(pd.DataFrame(rows).to_string(index=False))
