import csv
import os
import time

import matplotlib.pyplot as plt
import torch
from torch.nn.utils import clip_grad_norm_

from given import device_name


def train_epoch_amp(model, loader, criterion, optimizer, device, use_amp=False, scaler=None, max_grad_norm=None):
    if use_amp and scaler is not None:
        step, dtype = scaled_step, torch.float16
    else:
        step, dtype = plain_step, torch.bfloat16
    model.train()
    losses, hits, n, wait = [], [], 0, 0.0
    t0 = time.perf_counter()
    batches = iter(loader)
    while True:
        t1 = time.perf_counter()
        try:
            x, y = next(batches)
        except StopIteration:
            break
        finally:
            wait += time.perf_counter() - t1
        x, y = x.to(device), y.to(device)
        with torch.autocast(device_type=device.type, dtype=dtype, enabled=use_amp):
            out = model(x)
            loss = criterion(out, y)
        step(model, optimizer, loss, scaler, max_grad_norm)
        losses.append(loss.detach())
        hits.append((out.detach().max(1).indices == y).sum())
        n += y.numel()
    losses = torch.stack(losses).cpu()
    hits = torch.stack(hits).sum().item()
    t = time.perf_counter() - t0
    return dict(losses=losses, loss=losses.mean().item(), accuracy=100.0 * hits / n, throughput=n / t, data_wait=wait)


def scaled_step(model, optimizer, loss, scaler, max_grad_norm):
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    if max_grad_norm:
        scaler.unscale_(optimizer)
        clip_grad_norm_(model.parameters(), max_grad_norm)
    scaler.step(optimizer)
    scaler.update()


def plain_step(model, optimizer, loss, scaler, max_grad_norm):
    optimizer.zero_grad()
    loss.backward()
    if max_grad_norm:
        clip_grad_norm_(model.parameters(), max_grad_norm)
    optimizer.step()


def compare_precision(make_training, loader, device, folder="."):
    table = []
    for name in ["FP32", "AMP"]:
        for warm in (True, False):
            net, crit, opt = make_training(device)
            amp = name == "AMP"
            scaler = torch.amp.GradScaler(device.type) if amp else None
            if device.type == "cuda":
                torch.cuda.empty_cache()
                torch.cuda.reset_peak_memory_stats()
            batches = [b for b, _ in zip(loader, range(2))] if warm else loader
            began = time.perf_counter()
            m = train_epoch_amp(net, batches, crit, opt, device, amp, scaler)
            took = time.perf_counter() - began
            mb = torch.cuda.max_memory_allocated() / 2**20 if device.type == "cuda" else None
        table.append(
            dict(precision=name, throughput=m["throughput"], epoch_time=took, peak_memory_mb=mb, accuracy=m["accuracy"])
        )
    for r in table:
        r["speedup"] = r["throughput"] / table[0]["throughput"]
        r["device"] = device_name(device)
    with open(os.path.join(folder, "amp_results.csv"), "w", newline="") as f:
        w = csv.DictWriter(f, fieldnames=list(table[0]))
        w.writeheader()
        w.writerows(table)
    plt.figure(figsize=(9, 3))
    for i, (col, unit) in enumerate([("throughput", "samples/s"), ("peak_memory_mb", "MB"), ("speedup", "x")], 1):
        plt.subplot(1, 3, i)
        plt.bar(["FP32", "AMP"], [r[col] or 0 for r in table])
        plt.title(col)
        plt.ylabel(unit)
    plt.tight_layout()
    plt.savefig(os.path.join(folder, "amp_comparison.png"))
    plt.close()
    return table
