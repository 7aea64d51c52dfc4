import functools
import itertools
import operator
import pathlib
import time

import matplotlib.pyplot as plt
import pandas
import torch

import given


def forward(model, criterion, images, labels):
    logits = model(images)
    return criterion(logits, labels), logits


def stepper(use_amp, scaler, optimizer, parameters, max_grad_norm):
    """Choose once what every step does."""
    scaled = scaler if use_amp and scaler is not None else None
    clip = functools.partial(torch.nn.utils.clip_grad_norm_, parameters, max_grad_norm) if max_grad_norm is not None else lambda: None

    def plain(loss):
        loss.backward()
        clip()
        optimizer.step()

    def with_scaler(loss):
        scaled.scale(loss).backward()
        if max_grad_norm is not None:
            scaled.unscale_(optimizer)
        clip()
        scaled.step(optimizer)
        scaled.update()

    return with_scaler if scaled else plain


def train_epoch_amp(model, loader, criterion, optimizer, device, use_amp=False, scaler=None, max_grad_norm=None):
    run = torch.autocast(device.type)(forward) if use_amp else forward
    step = stepper(use_amp, scaler, optimizer, list(model.parameters()), max_grad_norm)
    model.train(True)
    ticks = [time.perf_counter()]
    waits, losses, hits, sizes = [], [], [], []
    for images, labels in loader:
        waits.append(time.perf_counter() - ticks[-1])
        images, labels = (tensor.to(device, non_blocking=True) for tensor in (images, labels))
        loss, logits = run(model, criterion, images, labels)
        for parameter in model.parameters():
            parameter.grad = None
        step(loss)
        losses.append(loss.detach())
        hits.append((logits.detach().argmax(1) == labels).float())
        sizes.append(labels.numel())
        ticks.append(time.perf_counter())
    mean_of_hits = torch.cat(hits).mean().item()
    all_losses = torch.stack(losses).float().cpu()
    total = time.perf_counter() - ticks[0]
    return {
        "losses": all_losses,
        "loss": all_losses.mean().item(),
        "accuracy": 100 * mean_of_hits,
        "throughput": functools.reduce(operator.add, sizes) / total,
        "data_wait": sum(waits),
    }


def compare_precision(make_training, loader, device, folder="."):
    path = pathlib.Path(folder)
    rows = [one(precision, make_training, loader, device) for precision in ("FP32", "AMP")]
    for row in rows:
        row.update(speedup=row["throughput"] / rows[0]["throughput"], device=given.device_name(device))
    pandas.DataFrame(rows).to_csv(path / "amp_results.csv", index=False)
    figure, axes = plt.subplot_mosaic([["throughput", "speedup"]])
    for name, axis in axes.items():
        for x, row in enumerate(rows):
            axis.bar(x, row[name], label=row["precision"])
        axis.set_xticks([0, 1], ["FP32", "AMP"])
        axis.set_ylabel({"throughput": "samples/s", "speedup": "x"}[name])
        axis.legend()
    with (path / "amp_comparison.png").open("wb") as file:
        figure.savefig(file, format="png")
    plt.close(figure)
    return rows


def one(precision, make_training, loader, device):
    amp = precision != "FP32"
    model, criterion, optimizer = make_training(device)
    fresh = [p.detach().clone() for p in itertools.chain(model.parameters(), model.buffers())]
    del model, criterion, optimizer, fresh
    for batches in (list(itertools.islice(loader, 4)), loader):
        model, criterion, optimizer = make_training(device)
        scaler = torch.amp.GradScaler(device.type, enabled=amp)
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(device)
        began = time.perf_counter()
        metrics = train_epoch_amp(model, batches, criterion, optimizer, device, use_amp=amp, scaler=scaler)
        ended = time.perf_counter()
        del model, optimizer
    memory = torch.cuda.max_memory_allocated(device) / 1e6 if device.type == "cuda" else None
    return {
        "precision": precision,
        "throughput": metrics["throughput"],
        "epoch_time": ended - began,
        "peak_memory_mb": memory,
        "accuracy": metrics["accuracy"],
    }
