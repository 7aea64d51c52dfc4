import time

import matplotlib
import numpy as np
import pandas as pd
import torch

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from given import device_name

END = object()


def train_epoch_amp(model, loader, criterion, optimizer, device, use_amp=False, scaler=None, max_grad_norm=None):
    """The step is queued, then the next batch is fetched: on a GPU both happen at once."""
    model = model.to(memory_format=torch.channels_last).train()
    losses = []
    right = torch.zeros(1, device=device)
    seen = 0
    wait = 0.0
    start = time.perf_counter()
    source = iter(loader)
    batch = next(source, END)
    wait += time.perf_counter() - start
    while batch is not END:
        x = batch[0].to(device, non_blocking=True, memory_format=torch.channels_last)
        y = batch[1].to(device, non_blocking=True)
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device.type, torch.bfloat16 if device.type == "cpu" else torch.float16, enabled=use_amp):
            logits = model(x)
            loss = criterion(logits, y)
        if use_amp and scaler:
            scaler.scale(loss).backward()
        else:
            loss.backward()
        if max_grad_norm is not None:
            if use_amp and scaler:
                scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_grad_norm, foreach=True)
        if use_amp and scaler:
            scaler.step(optimizer)
            scaler.update()
        else:
            optimizer.step()
        with torch.no_grad():
            losses += [loss.detach()]
            right += logits.argmax(1).eq(y).sum()
            seen += y.shape[0]
        asked = time.perf_counter()
        batch = next(source, END)
        wait += time.perf_counter() - asked
    losses = torch.tensor([float(value) for value in torch.stack(losses).to("cpu", torch.float64)], dtype=torch.float64)
    accuracy = float(right) / seen * 100
    elapsed = time.perf_counter() - start
    return {
        "losses": losses,
        "loss": float(losses.mean()),
        "accuracy": accuracy,
        "throughput": seen / elapsed,
        "data_wait": wait,
    }


def compare_precision(make_training, loader, device, folder="."):
    warm = [batch for _, batch in zip(range(3), loader)]
    records = []
    for label, amp in {"FP32": False, "AMP": True}.items():
        throwaway = make_training(device)
        train_epoch_amp(throwaway[0], warm, throwaway[1], throwaway[2], device, amp, torch.amp.GradScaler(device.type) if amp else None)
        del throwaway
        model, criterion, optimizer = make_training(device)
        scaler = torch.amp.GradScaler(device.type, enabled=amp)
        if device.type == "cuda":
            torch.cuda.synchronize()
            torch.cuda.reset_peak_memory_stats()
        t = -time.perf_counter()
        got = train_epoch_amp(model, loader, criterion, optimizer, device, amp, scaler)
        t += time.perf_counter()
        records.append([label, got["throughput"], t, np.nan, got["accuracy"]])
        if device.type == "cuda":
            records[-1][3] = torch.cuda.max_memory_allocated() / 1e6
        del model, optimizer
    frame = pd.DataFrame(records, columns=["precision", "throughput", "epoch_time", "peak_memory_mb", "accuracy"])
    frame["speedup"] = frame.throughput / frame.throughput.iloc[0]
    frame["device"] = device_name(device)
    frame.to_csv(f"{folder}/amp_results.csv", index=False)
    axes = frame.plot.bar(x="precision", y=["throughput", "speedup"], subplots=True, layout=(1, 2), figsize=(9, 4), legend=False)
    for axis, unit in zip(axes.flat, ("samples/s", "x")):
        axis.set_ylabel(unit)
    plt.gcf().savefig(f"{folder}/amp_comparison.png")
    plt.close("all")
    rows = frame.to_dict("records")
    for row in rows:
        if row["peak_memory_mb"] != row["peak_memory_mb"]:
            row["peak_memory_mb"] = None
    return rows
