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
    # YOUR CODE HERE
    raise NotImplementedError()


# --- the model --------------------------------------------------------------------------------------------------------


def prepare(model, options) -> Any:
    """Return what to train: the compiled model, the checkpointed one, or *model*. It has *model*'s own parameters."""
    # TODO: for --compile the model built by options.backend, for --checkpoint the model in five segments.
    # YOUR CODE HERE
    raise NotImplementedError()


# --- the training -----------------------------------------------------------------------------------------------------


def train_epoch(model, loader, criterion, optimizer, scaler, options) -> dict[str, Any]:
    """Train for one epoch; a group of options.accumulate batches is one step, the last group may have fewer.

    Returns a dict: loss (mean over all samples), correct and samples (numbers of samples), seconds (of the whole
    epoch), data_wait (seconds of it spent waiting for the loader).
    """
    # TODO: one loop for all options: forward pass and loss under autocast with options.amp, the calls of the scaler in
    # order. A group's gradient is the mean over its samples; you may assume batches of the same size.
    # Do not wait for the device in the loop.
    # YOUR CODE HERE
    raise NotImplementedError()


def warm_up(model, loader, criterion, optimizer, scaler, options) -> None:
    """Do one-time work, such as builds, before epochs are timed; leave model, optimizer and scaler as they were."""
    # TODO: a few complete steps with the training's autocast, scaler and groups; put back what they changed.
    # YOUR CODE HERE
    raise NotImplementedError()


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
    # YOUR CODE HERE
    raise NotImplementedError()


if __name__ == "__main__":
    main()
