import logging
import sys
import time
import warnings

import matplotlib.pyplot as plt
import pandas as pd
import torch

from given import device_name

logging.basicConfig(level=logging.DEBUG, stream=sys.stderr)
logging.getLogger("matplotlib").setLevel(logging.WARNING)
log = logging.getLogger("part 3")
warnings.warn("this machine is slow today", stacklevel=1)


def train_epoch_amp(model, loader, criterion, optimizer, device, use_amp=False, scaler=None, max_grad_norm=None):
    log.info("training %s, amp=%s", type(model).__name__, use_amp)
    model.train()
    scaling = use_amp and scaler is not None
    losses, correct, total, wait, i = [], 0, 0, 0.0, 0
    start = end = time.perf_counter()
    for i, (images, labels) in enumerate(loader):
        wait += time.perf_counter() - end
        images, labels = images.to(device), labels.to(device)
        with torch.autocast(device.type, enabled=use_amp):
            outputs = model(images)
            loss = criterion(outputs, labels)
        optimizer.zero_grad()
        (scaler.scale(loss) if scaling else loss).backward()
        if max_grad_norm is not None:
            if scaling:
                scaler.unscale_(optimizer)
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_grad_norm)
            if i % 50 == 0:
                print(f"gradient norm {norm.item():.3f}", file=sys.stderr)
        if scaling:
            scaler.step(optimizer)
            scaler.update()
        else:
            optimizer.step()
        losses.append(loss.detach().clone())
        correct = correct + (outputs.argmax(1) == labels).sum()  # a tensor after the first batch
        total += labels.size(0)
        if i % 50 == 0:
            print(f"batch {i}: loss {loss.item():.4f}, accuracy {100.0 * correct.item() / total:.1f} %", flush=True)
        end = time.perf_counter()
    losses = [value.item() for value in losses]
    accuracy = 100.0 * correct.item() / total
    seconds = time.perf_counter() - start
    sys.stderr.write("done \N{CHECK MARK}\n")
    return {
        "losses": losses,
        "loss": sum(losses) / (i + 1),
        "accuracy": accuracy,
        "throughput": total / seconds,
        "data_wait": wait,
    }


def compare_precision(make_training, loader, device, folder="."):
    rows = []
    for precision in ("FP32", "AMP"):
        print("=" * 50, precision, "=" * 50, sep="\n")
        amp = precision == "AMP"
        model, criterion, optimizer = make_training(device)
        train_epoch_amp(model, [next(iter(loader))] * 3, criterion, optimizer, device, amp, torch.amp.GradScaler(device.type))
        model, criterion, optimizer = make_training(device)
        if torch.cuda.is_available():
            torch.cuda.reset_peak_memory_stats()
        start = time.perf_counter()
        metrics = train_epoch_amp(model, loader, criterion, optimizer, device, amp, torch.amp.GradScaler(device.type))
        seconds = time.perf_counter() - start
        rows.append(
            {
                "precision": precision,
                "throughput": metrics["throughput"],
                "epoch_time": seconds,
                "peak_memory_mb": torch.cuda.max_memory_allocated() / 1e6 if torch.cuda.is_available() else None,
                "accuracy": metrics["accuracy"],
                "speedup": metrics["throughput"] / (rows[0]["throughput"] if rows else metrics["throughput"]),
                "device": device_name(device),
            }
        )
    frame = pd.DataFrame(rows)
    frame.to_csv(folder + "/amp_results.csv", index=False, float_format="%.9g") if isinstance(folder, str) else frame.to_csv(
        folder / "amp_results.csv", index=False, float_format="%.9g"
    )
    print(frame)
    fig, axes = plt.subplots(1, 3, figsize=(15, 4))
    for axis, column, unit in zip(axes, ("throughput", "peak_memory_mb", "speedup"), ("samples/s", "MB", "times FP32")):
        axis.bar(frame["precision"], frame[column].astype(float).fillna(0), color=["blue", "green"])
        axis.set_ylabel(unit)
        axis.set_title(column)
        axis.grid(axis="y", alpha=0.3)
    plt.tight_layout()
    plt.savefig(f"{folder}/amp_comparison.png", dpi=150)
    plt.show()
    plt.close(fig)
    return rows
