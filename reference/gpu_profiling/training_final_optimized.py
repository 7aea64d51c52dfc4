"""Train a SimpleNet with everything this lab has found, and print what it took.

    python training_final_optimized.py --workers 2 --compile --amp --batch-size 0 --profile final_profile.gz

The last line of the output is a JSON object with the figures of the run. Seven points, and where they are:

    1 a batch as large as fits       largest_batch      5 no wait for the device in the loop     train_epoch
    2 workers, pinned memory         make_loader        6 asynchronous copies                    train_epoch
    3 mixed precision                train_epoch        7 several batches are one step           train_epoch
    4 fused operations               fuse
"""

from __future__ import annotations

import json
import time
from typing import Any

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from given import device_name, make_photos, make_training, read_options, record, spanned


def largest_batch(attempt, step) -> int:
    """Return the largest of step, step / 2, step / 4 ... samples that fit into memory.

    attempt(size) trains on *size* samples, and raises torch.OutOfMemoryError if they do not fit. Do not halve an odd
    size: let its error through. Let any other error through, too.
    """
    # TODO: begin with step, and halve it each time it does not fit.
    ### BEGIN SOLUTION
    size = step
    while True:
        try:
            attempt(size)
        except torch.OutOfMemoryError:
            if size % 2:
                raise
        else:
            return size
        torch.cuda.empty_cache()  # after the except, which has let go of what the attempt held
        size //= 2
    ### END SOLUTION


def make_loader(dataset, batch_size, workers, device) -> DataLoader[Any]:
    """Return a loader that shuffles: *workers* processes read ahead and stay, and a GPU gets pinned memory."""
    # TODO: persistent_workers=True is an error without workers; so is a prefetch_factor, if you set one.
    ### BEGIN SOLUTION
    ahead = {"persistent_workers": True, "prefetch_factor": 4} if workers else {}
    return DataLoader(dataset, batch_size, shuffle=True, num_workers=workers, pin_memory=device.type == "cuda", **ahead)
    ### END SOLUTION


def fuse(model, backend="inductor") -> nn.Module:
    """Return *model* compiled by *backend* as one graph for each shape; a model that needs two graphs is an error."""
    # TODO: call torch.compile with three options.
    ### BEGIN SOLUTION
    return torch.compile(model, backend=backend, fullgraph=True, dynamic=False)
    ### END SOLUTION


def train_epoch(
    model, loader, criterion, optimizer, scaler, device, amp=False, accumulate=1, on_step=None
) -> dict[str, Any]:
    """Train for one epoch. Every *accumulate* batches make one step, the same as that of one large batch.

    All batches have the same size, and their number is a multiple of *accumulate*. *scaler* is a torch.amp.GradScaler.
    Call on_step(), if it is given, at the end of each batch.
    Returns a dict: losses (the mean over the samples of each step), samples (how many), seconds (of the whole epoch,
    until the losses are on the host), data_wait (seconds of it spent waiting for the loader).
    If the scaler skips a step, its losses and samples count all the same.
    """
    # TODO: a loop with groups of batches; nothing in it waits for the device.
    ### BEGIN SOLUTION
    model.train()
    optimizer.zero_grad()
    losses, samples, data_wait = [], 0, 0.0
    start = fetch = time.perf_counter()
    for index, (images, labels) in enumerate(spanned(loader), 1):
        data_wait += time.perf_counter() - fetch
        images, labels = images.to(device, non_blocking=True), labels.to(device, non_blocking=True)
        with torch.autocast(device.type, enabled=amp):
            loss = criterion(model(images), labels) / accumulate
        scaler.scale(loss).backward()
        if index % accumulate == 0:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
        losses.append(loss.detach())  # .item() would wait for all that the device has still to do
        samples += len(labels)
        if on_step is not None:
            on_step()
        fetch = time.perf_counter()
    of_steps = torch.stack(losses).view(-1, accumulate).sum(dim=1).tolist()  # the only wait
    seconds = time.perf_counter() - start
    return {"losses": of_steps, "samples": samples, "seconds": seconds, "data_wait": data_wait}
    ### END SOLUTION


def main(argv=None) -> None:
    """Train as the command line says; print the figures as one line of JSON, and write a profile if asked.

    losses       the mean loss of each timed epoch, a list; loss: that of the last one
    samples      of all timed epochs; steps: of the optimizer, in all of them
    seconds      of all timed epochs; data_wait: those spent waiting for the loader; throughput: samples / seconds
    warm_up_s    seconds before the first timed epoch: looking for the batch size, and the warm-up
    batch_size   samples at once
    device       from given.device_name
    """
    # TODO: options = read_options(argv); --batch-size 0 asks for the largest batch that fits.
    # TODO: do all one-time work before the first timed epoch:
    #       - search for the batch size. For each attempt, call make_training(device) again, and throw that model away.
    #         A TensorDataset of copies of the first photo and its label gives a batch of any size;
    #       - copy the state dicts of the model and its optimizer (copy.deepcopy), train the model for one epoch, and
    #         load the copies.
    #       Use the loader that you time later: its workers start in its first epoch.
    # TODO: --profile: record(lambda on_step: ..., options.profile, batches), after the timed epochs.
    ### BEGIN SOLUTION
    options = read_options(argv)
    device, photos = options.device, make_photos(options.samples)

    def prepare() -> tuple[Any, ...]:
        model, criterion, optimizer = make_training(device)
        scaler = torch.amp.GradScaler(device.type, enabled=options.amp and device.type == "cuda")
        return fuse(model, options.backend) if options.compile else model, criterion, optimizer, scaler

    def epoch(training, batches, accumulate=1, on_step=None) -> dict[str, Any]:
        model, criterion, optimizer, scaler = training
        return train_epoch(model, batches, criterion, optimizer, scaler, device, options.amp, accumulate, on_step)

    def attempt(size) -> None:
        image, label = photos[0]
        batch = TensorDataset(image.repeat(size, 1, 1, 1), torch.full((size,), label))
        epoch(prepare(), DataLoader(batch, size))

    start = time.perf_counter()
    size = options.batch_size or largest_batch(attempt, options.step)
    loader, accumulate = make_loader(photos, size, options.workers, device), options.step // size
    training = prepare()
    begun = [{name: it.clone() for name, it in training[0].state_dict().items()}, training[2].state_dict()]
    epoch(training, loader, accumulate)  # in the very modules that are timed, so that all is built and running
    training[0].load_state_dict(begun[0])
    training[2].load_state_dict(begun[1])
    warm_up_s = time.perf_counter() - start

    epochs = [epoch(training, loader, accumulate) for _ in range(options.epochs)]
    if options.profile:
        batches = options.samples // size
        record(lambda on_step: epoch(training, loader, accumulate, on_step), options.profile, batches)

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
    ### END SOLUTION


if __name__ == "__main__":
    torch.set_num_threads(1)  # on shared cores, more threads would wait for other programs
    main()
