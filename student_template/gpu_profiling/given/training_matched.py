"""The script of part 1 once more, for part 6: as wasteful as it was, but it does the same work as the optimized one.

python -m given.training_matched --profile profile_baseline.gz

Its batches stay small. A step of the optimizer is of as many samples as the optimized one's, so that both take the
same steps from the same weights, and a faster version really trains faster.
"""

from __future__ import annotations

import json
import time
from typing import Any

import torch
from torch import nn
from torch.utils.data import DataLoader

from given.devices import device_name
from given.spans import spanned
from given.training_unoptimized import synchronize
from given.trainings import make_photos, make_training, read_options, record

SMALL = 32  # samples at once, whatever would fit


def largest_batch(attempt, step) -> int:
    """Try nothing."""
    return min(SMALL, step)


def make_loader(dataset, batch_size, workers, device) -> DataLoader[Any]:
    """Load in this process, into ordinary memory."""
    return DataLoader(dataset, batch_size, shuffle=True, num_workers=0, pin_memory=False)


def fuse(model, backend="inductor") -> nn.Module:
    """Fuse nothing."""
    return model


def train_epoch(
    model, loader, criterion, optimizer, scaler, device, amp=False, accumulate=1, on_step=None
) -> dict[str, Any]:
    """Train in FP32, and wait for the device wherever one can."""
    model.train()
    optimizer.zero_grad()
    losses, samples, data_wait = [], 0, 0.0
    start = fetch = time.perf_counter()
    for index, (images, labels) in enumerate(spanned(loader), 1):
        data_wait += time.perf_counter() - fetch
        images = images.to(device)
        labels = labels.to(device)
        synchronize(device)
        loss = criterion(model(images), labels) / accumulate
        loss.backward()
        if index % accumulate == 0:
            optimizer.step()
            optimizer.zero_grad()
        synchronize(device)
        losses.append(loss.item())
        samples += len(labels)
        if on_step is not None:
            on_step()
        fetch = time.perf_counter()
    seconds = time.perf_counter() - start
    of_steps = [sum(losses[at : at + accumulate]) for at in range(0, len(losses), accumulate)]
    return {"losses": of_steps, "samples": samples, "seconds": seconds, "data_wait": data_wait}


def main(argv=None) -> None:
    """Train as the command line says, and print the figures as one line of JSON."""
    options = read_options(argv)
    size, device = options.batch_size or min(SMALL, options.step), options.device
    loader = make_loader(make_photos(options.samples), size, options.workers, device)

    def epoch(training, on_step=None) -> dict[str, Any]:
        model, criterion, optimizer = training
        return train_epoch(
            model, loader, criterion, optimizer, None, device, accumulate=options.step // size, on_step=on_step
        )

    start = time.perf_counter()
    epoch(make_training(device))
    warm_up_s = time.perf_counter() - start
    training = make_training(device)
    epochs = [epoch(training) for _ in range(options.epochs)]
    if options.profile:
        record(lambda on_step: epoch(training, on_step), options.profile, options.samples // size)

    samples, seconds = sum(it["samples"] for it in epochs), sum(it["seconds"] for it in epochs)
    losses = [sum(it["losses"]) / len(it["losses"]) for it in epochs]
    figures = {
        "throughput": samples / seconds,
        "seconds": seconds,
        "data_wait": sum(it["data_wait"] for it in epochs),
        "warm_up_s": warm_up_s,
        "samples": samples,
        "steps": sum(len(it["losses"]) for it in epochs),
        "batch_size": size,
        "loss": losses[-1],
    }
    print(json.dumps({"losses": losses, **figures, "device": device_name(device)}))


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
