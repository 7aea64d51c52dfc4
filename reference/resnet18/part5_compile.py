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
        ### BEGIN SOLUTION
        super().__init__()
        self.limit = limit
        self.register_buffer("spikes", torch.zeros((), dtype=torch.int64))
        ### END SOLUTION

    def forward(self, x) -> torch.Tensor:
        """Return x, or x * (limit / size) if its size is above the limit; no gradient goes through size."""
        # TODO: as the baseline does, in one graph: no .item(), no `if` on values of x, no Python counter.
        ### BEGIN SOLUTION
        size = x.detach().abs().mean()
        spike = size > self.limit
        self.spikes += spike
        return x * torch.where(spike, self.limit / size, 1.0)
        ### END SOLUTION


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
    ### BEGIN SOLUTION
    return torch.compile(model, backend=backend, fullgraph=True)
    ### END SOLUTION


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
    ### BEGIN SOLUTION
    model.train()
    losses, sizes, data_wait = [], [], 0.0
    correct = torch.zeros((), dtype=torch.int64, device=device)
    start = fetch = time.perf_counter()
    for images, labels in loader:
        data_wait += time.perf_counter() - fetch
        images, labels = images.to(device, non_blocking=True), labels.to(device, non_blocking=True)
        optimizer.zero_grad()
        with torch.autocast(device.type, torch.bfloat16, enabled=use_amp):
            outputs = model(images)
            loss = criterion(outputs, labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
        sizes.append(len(labels))
        correct += (outputs.detach().argmax(dim=1) == labels).sum()
        fetch = time.perf_counter()
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


STEPS = 3  # of the warm-up, for each size of a batch; you may change it


def warm_up(model, loader, criterion, optimizer, device, use_amp=False) -> None:
    """Build everything that an epoch over loader needs; leave weights, statistics and optimizer as they were.

    loader is a DataLoader; its last batch may be smaller than the others.
    """
    # TODO: complete steps (forward, loss, backward, optimizer) in the modes of the epoch, for each size of a batch.
    # TODO: put back what they changed: parameters, running statistics, the optimizer's state. You need not put back
    # the generator of random numbers, or the order of a loader that shuffles.
    ### BEGIN SOLUTION
    before = copy.deepcopy((model.state_dict(), optimizer.state_dict()))
    images, labels = next(iter(loader))
    tail = len(loader.dataset) % loader.batch_size
    sizes = [len(labels), tail] if tail and not loader.drop_last else [len(labels)]
    for size in sizes:
        batches = [(images[:size].clone(), labels[:size])] * STEPS  # batches of a loader are no views of others
        train_epoch_compiled(model, batches, criterion, optimizer, device, use_amp)
    model.load_state_dict(before[0])
    optimizer.load_state_dict(before[1])
    optimizer.zero_grad()
    ### END SOLUTION


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
    ### BEGIN SOLUTION
    rows: list[dict[str, Any]] = []
    for name in ("Eager", "Compiled"):
        model, criterion, optimizer = make_training(device)
        if name == "Compiled":
            model = compile_model(model, backend)
        start = time.perf_counter()
        warm_up(model, loader, criterion, optimizer, device, use_amp)
        compile_s = time.perf_counter() - start if name == "Compiled" else 0.0

        start = time.perf_counter()
        metrics = train_epoch_compiled(model, loader, criterion, optimizer, device, use_amp)
        epoch_time = time.perf_counter() - start

        throughput = metrics["throughput"]
        speedup = throughput / rows[0]["throughput"] if rows else 1.0
        values = (name, throughput, epoch_time, compile_s, metrics["loss"], speedup, device_name(device))
        rows.append(dict(zip(COLUMNS, values, strict=True)))
    pd.DataFrame(rows, columns=COLUMNS).to_csv(Path(folder) / "compile_results.csv", index=False)

    figure, axes = plt.subplots(1, len(PANELS), figsize=(4 * len(PANELS), 4), layout="constrained")
    for axis, (column, label) in zip(axes, PANELS.items(), strict=True):
        bars = axis.bar([row["model"] for row in rows], [row[column] for row in rows], color=["C7", "C0"], width=0.6)
        axis.bar_label(bars, fmt="{:,.2f}", padding=2)
        axis.margins(y=0.12)
        axis.set_ylabel(label)
    figure.suptitle(f"torch.compile, {rows[0]['device']}")
    figure.savefig(Path(folder) / "compile_comparison.png", dpi=150)
    plt.close(figure)
    return rows
    ### END SOLUTION


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
