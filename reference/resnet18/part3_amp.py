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
    ### BEGIN SOLUTION
    if not use_amp or scaler is None:
        scaler = torch.amp.GradScaler(device.type, enabled=False)  # hands everything through: one loop for all cases

    model.train()
    losses, samples, data_wait = [], 0, 0.0
    correct = torch.zeros((), dtype=torch.int64, device=device)

    start = fetch = time.perf_counter()
    for images, labels in loader:
        data_wait += time.perf_counter() - fetch
        images = images.to(device, non_blocking=True)  # (batch, 3, height, width), float32
        labels = labels.to(device, non_blocking=True)  # (batch,), int64

        optimizer.zero_grad()
        with torch.autocast(device.type, enabled=use_amp):
            outputs = model(images)  # (batch, 10), 16 bits under autocast
            loss = criterion(outputs, labels)  # float32 again

        scaler.scale(loss).backward()
        if max_grad_norm is not None:
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_grad_norm)
        scaler.step(optimizer)  # skipped if a gradient is inf or NaN
        scaler.update()

        losses.append(loss.detach())
        correct += (outputs.detach().argmax(dim=1) == labels).sum()
        samples += len(labels)
        fetch = time.perf_counter()

    losses = torch.stack(losses).tolist()  # the only wait for the device, once
    accuracy = 100 * correct.item() / samples
    seconds = time.perf_counter() - start
    return {
        "losses": losses,
        "loss": sum(losses) / len(losses),
        "accuracy": accuracy,
        "throughput": samples / seconds,
        "data_wait": data_wait,
    }
    ### END SOLUTION


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
    ### BEGIN SOLUTION
    on_gpu = device.type == "cuda"

    def measure(use_amp, batches):
        model, criterion, optimizer = make_training(device)  # fresh weights, and gone when measure returns
        scaler = torch.amp.GradScaler(device.type) if use_amp else None
        if on_gpu:
            torch.cuda.reset_peak_memory_stats(device)
        start = time.perf_counter()
        metrics = train_epoch_amp(model, batches, criterion, optimizer, device, use_amp, scaler)
        epoch_time = time.perf_counter() - start
        peak_memory_mb = torch.cuda.max_memory_allocated(device) / 1e6 if on_gpu else None
        return metrics, epoch_time, peak_memory_mb

    rows: list[dict[str, Any]] = []
    for precision, use_amp in (("FP32", False), ("AMP", True)):
        measure(use_amp, islice(loader, 3))  # the warm-up
        metrics, epoch_time, peak_memory_mb = measure(use_amp, loader)
        throughput = metrics["throughput"]
        speedup = throughput / rows[0]["throughput"] if rows else 1.0
        values = (precision, throughput, epoch_time, peak_memory_mb, metrics["accuracy"], speedup, device_name(device))
        rows.append(dict(zip(COLUMNS, values, strict=True)))
    pd.DataFrame(rows, columns=COLUMNS).to_csv(Path(folder) / "amp_results.csv", index=False)

    panels = {column: label for column, label in PANELS.items() if rows[0][column] is not None}
    figure, axes = plt.subplots(1, len(panels), figsize=(4 * len(panels), 4), layout="constrained")
    for axis, (column, label) in zip(axes, panels.items(), strict=True):
        bars = axis.bar(
            [row["precision"] for row in rows], [row[column] for row in rows], color=["C7", "C0"], width=0.6
        )
        axis.bar_label(bars, fmt="{:,.2f}", padding=2)
        axis.margins(y=0.12)
        axis.set_ylabel(label)
    figure.suptitle(f"Mixed precision against FP32, {rows[0]['device']}")
    figure.savefig(Path(folder) / "amp_comparison.png", dpi=150)
    plt.close(figure)
    return rows
    ### END SOLUTION


# %%
if __name__ == "__main__":
    torch.set_num_threads(1)  # on shared cores, more threads would wait for other programs
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    rows = compare_precision(make_training, make_loader(**workload(device)), device)
    print(pd.DataFrame(rows).to_string(index=False))
