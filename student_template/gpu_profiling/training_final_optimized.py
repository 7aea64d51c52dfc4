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
    # YOUR CODE HERE
    raise NotImplementedError()


def make_loader(dataset, batch_size, workers, device) -> DataLoader[Any]:
    """Return a loader that shuffles: *workers* processes read ahead and stay, and a GPU gets pinned memory."""
    # TODO: persistent_workers=True is an error without workers; so is a prefetch_factor, if you set one.
    # YOUR CODE HERE
    raise NotImplementedError()


def fuse(model, backend="inductor") -> nn.Module:
    """Return *model* compiled by *backend* as one graph for each shape; a model that needs two graphs is an error."""
    # TODO: call torch.compile with three options.
    # YOUR CODE HERE
    raise NotImplementedError()


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
    # YOUR CODE HERE
    raise NotImplementedError()


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
    # YOUR CODE HERE
    raise NotImplementedError()


if __name__ == "__main__":
    torch.set_num_threads(1)  # on shared cores, more threads would wait for other programs
    main()
