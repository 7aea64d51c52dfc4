"""Train a ResNet-18 with the optimizations of this lab, each behind an option, and print what it took.

    python optimized_training.py --workers 2 --amp --save model.pt

The last line of the output is a JSON object with the numbers of the run.
"""

from __future__ import annotations

import argparse
import copy
import json
import resource
import time
from contextlib import contextmanager, nullcontext
from itertools import islice
from typing import Any

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.utils.checkpoint import checkpoint

from given import device_name, make_loader, make_training, workload

WARM_UP = 2  # steps


def read_options(argv=None) -> argparse.Namespace:
    """Read the command line; what cannot be done is a usage error: one line that says why, and exit status 2."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    usual = workload(device)
    parser = argparse.ArgumentParser(description="Train a ResNet-18, and print what it took as one line of JSON.")
    parser.add_argument("--data", choices=("synthetic", "cifar10"), default="synthetic")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--batches", type=int, default=usual["batches"], help="of an epoch")
    parser.add_argument("--batch-size", type=int, default=usual["batch_size"], help="samples")
    parser.add_argument("--image-size", type=int, default=usual["image_size"], help="pixels a side")
    parser.add_argument("--workers", type=int, default=0, help="processes that load data")
    parser.add_argument("--amp", action="store_true", help="mixed precision")
    parser.add_argument("--compile", action="store_true", help="torch.compile, the whole model as one graph")
    parser.add_argument("--backend", default="inductor", help="of torch.compile")
    parser.add_argument("--accumulate", type=int, default=1, metavar="N", help="batches of one step")
    parser.add_argument("--checkpoint", action="store_true", help="keep the inputs of five segments only")
    parser.add_argument("--save", metavar="FILE", help="write the trained weights there")
    options = parser.parse_args(argv)
    options.device = device
    # TODO: refuse --epochs below 1, --accumulate below 1, and --compile together with --checkpoint: parser.error(...).
    # TODO: return options.
    ### BEGIN SOLUTION
    if options.epochs < 1 or options.accumulate < 1:
        parser.error("--epochs and --accumulate are at least 1")
    if options.compile and options.checkpoint:
        parser.error("--checkpoint cannot be compiled as one graph; take one of them")
    return options
    ### END SOLUTION


# --- the model --------------------------------------------------------------------------------------------------------


def prepare(model, options) -> Any:
    """Return what to train: the compiled model, the checkpointed one, or *model*. It has *model*'s own parameters."""
    # TODO: for --compile the model built by options.backend, for --checkpoint the model in five segments.
    ### BEGIN SOLUTION
    if options.compile:
        return torch.compile(model, backend=options.backend, fullgraph=True)
    return Checkpointed(model) if options.checkpoint else model


class Checkpointed(nn.Module):
    """A ResNet that keeps only the inputs of its stem and of its four layers."""

    def __init__(self, resnet) -> None:
        """Share the modules of a torchvision ResNet."""
        super().__init__()
        stem = nn.Sequential(resnet.conv1, resnet.bn1, resnet.relu, resnet.maxpool)
        self.segments = nn.ModuleList([stem, resnet.layer1, resnet.layer2, resnet.layer3, resnet.layer4])
        self.head = nn.Sequential(resnet.avgpool, nn.Flatten(1), resnet.fc)

    def forward(self, images) -> torch.Tensor:
        """Return what the ResNet returns."""
        x = images
        for segment in self.segments:
            x = twice(segment, x)
        return self.head(x)


def twice(segment, x) -> torch.Tensor:
    """Run a segment, and again when the backward pass gets there."""
    return checkpoint(segment, x, use_reentrant=False, context_fn=lambda: (nullcontext(), norms_held(segment)))


@contextmanager
def norms_held(segment):
    """Let no BatchNorm of a segment move its statistics."""
    norms = [module for module in segment.modules() if isinstance(module, _BatchNorm) and module.track_running_stats]
    before = [(norm, norm.momentum, norm.num_batches_tracked.clone()) for norm in norms]
    for norm in norms:
        norm.momentum = 0.0
    try:
        yield
    finally:
        for norm, momentum, batches in before:
            norm.momentum = momentum
            norm.num_batches_tracked.copy_(batches)
    ### END SOLUTION


# --- the training -----------------------------------------------------------------------------------------------------


def train_epoch(model, loader, criterion, optimizer, scaler, options) -> dict[str, Any]:
    """Train for one epoch; a group of options.accumulate batches is one step, the last group may have fewer.

    Returns a dict: loss (mean over all samples), correct and samples (numbers of samples), seconds (of the whole
    epoch), data_wait (seconds of it spent waiting for the loader).
    """
    # TODO: one loop for all options: forward pass and loss under autocast with options.amp, the calls of the scaler in
    # order. A group's gradient is the mean over its samples; you may assume batches of the same size.
    # Do not wait for the device in the loop.
    ### BEGIN SOLUTION
    model.train()
    optimizer.zero_grad()
    device, losses, sizes, group, data_wait = options.device, [], [], 0, 0.0
    correct = torch.zeros((), dtype=torch.int64, device=device)

    def step(batches):
        scaler.unscale_(optimizer)
        for parameter in model.parameters():
            if parameter.grad is not None:
                parameter.grad *= options.accumulate / batches  # not 1 for a short last group
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()

    start = fetch = time.perf_counter()
    for index, (images, labels) in enumerate(loader):
        data_wait += time.perf_counter() - fetch
        images, labels = images.to(device, non_blocking=True), labels.to(device, non_blocking=True)
        with torch.autocast(device.type, enabled=options.amp):
            outputs = model(images)
            loss = criterion(outputs, labels)
        scaler.scale(loss / options.accumulate).backward()
        group += 1
        if (index + 1) % options.accumulate == 0:
            step(group)
            group = 0
        losses.append(loss.detach() * len(labels))
        sizes.append(len(labels))
        correct += (outputs.detach().argmax(dim=1) == labels).sum()
        fetch = time.perf_counter()
    if group:
        step(group)
    total, correct = torch.stack(losses).sum().item(), correct.item()  # the only waits for the device
    seconds = time.perf_counter() - start
    samples = sum(sizes)
    return {
        "loss": total / samples,
        "correct": correct,
        "samples": samples,
        "seconds": seconds,
        "data_wait": data_wait,
    }
    ### END SOLUTION


def warm_up(model, loader, criterion, optimizer, scaler, options) -> None:
    """Do one-time work, such as builds, before epochs are timed; leave model, optimizer and scaler as they were."""
    # TODO: a few complete steps with the training's autocast, scaler and groups; put back what they changed.
    ### BEGIN SOLUTION
    parts = (model, optimizer, scaler)
    before = copy.deepcopy([part.state_dict() for part in parts])
    train_epoch(model, islice(loader, WARM_UP * options.accumulate), criterion, optimizer, scaler, options)
    for part, state in zip(parts, before, strict=True):
        part.load_state_dict(state)
    optimizer.zero_grad()
    ### END SOLUTION


def peak_memory_mb(device) -> float:
    """Return the most memory that this process ever held, in MB: the GPU's, or the host's where there is none."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6  # it is told in KiB


def main(argv=None) -> None:
    """Train as the command line says; write the weights if asked, and print the numbers as one line of JSON.

    losses          the mean loss of each epoch, a list
    loss            the mean loss of the last epoch
    accuracy        percent of the samples of the last epoch, 0 to 100
    throughput      samples per second over all epochs, waiting for data included
    epoch_time      seconds of an epoch, the mean
    data_wait       seconds of an epoch spent waiting for the loader, the mean
    warm_up_s       seconds that the warm-up took before
    peak_memory_mb  from peak_memory_mb(device)
    device          from given.device_name
    """
    # TODO: read_options(argv); the loader, the training and a GradScaler for the device. It is enabled only with --amp,
    # and only if you do not pass dtype=torch.bfloat16 to autocast.
    # TODO: warm up, and time that; then all epochs.
    # TODO: --save writes the state_dict of the plain model, whatever was trained in its place.
    ### BEGIN SOLUTION
    options = read_options(argv)
    device = options.device
    loader = make_loader(options.batch_size, options.batches, options.image_size, options.workers, options.data)
    plain, criterion, optimizer = make_training(device)
    model = prepare(plain, options)
    scaler = torch.amp.GradScaler(device.type, enabled=options.amp)

    start = time.perf_counter()
    warm_up(model, loader, criterion, optimizer, scaler, options)
    warm_up_s = time.perf_counter() - start
    epochs = [train_epoch(model, loader, criterion, optimizer, scaler, options) for _ in range(options.epochs)]

    if options.save:
        torch.save(plain.state_dict(), options.save)
    seconds, last = sum(epoch["seconds"] for epoch in epochs), epochs[-1]
    figures = {
        "losses": [epoch["loss"] for epoch in epochs],
        "loss": last["loss"],
        "accuracy": 100 * last["correct"] / last["samples"],
        "throughput": sum(epoch["samples"] for epoch in epochs) / seconds,
        "epoch_time": seconds / len(epochs),
        "data_wait": sum(epoch["data_wait"] for epoch in epochs) / len(epochs),
        "warm_up_s": warm_up_s,
        "peak_memory_mb": peak_memory_mb(device),
        "device": device_name(device),
    }
    print(json.dumps(figures))
    ### END SOLUTION


if __name__ == "__main__":
    main()
