"""Train in each process of a group, and say what it took.

    torchrun --nproc-per-node 2 train_distributed.py --amp --accumulate 4 --workers 2 --epochs 3 --result result.json

Each process of the group runs this file. Options, data sets, model and optimizer come from `given`.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, Subset

from given import make_datasets, make_training, peak_mb, profiled, read_options


def join() -> torch.device:
    """Join the group that the environment describes; return the device of this process.

    If each of the LOCAL_WORLD_SIZE processes on this machine has a GPU: nccl, and GPU number LOCAL_RANK. Else: gloo,
    and the CPU.
    """
    # TODO: init_process_group takes rank and size from the environment.
    # YOUR CODE HERE
    raise NotImplementedError()


def make_loader(dataset, batch_size, workers, device) -> tuple[DataLoader[Any], DistributedSampler[Any]]:
    """Return a loader of this process's share, shuffled, and its sampler.

    *workers* processes load data and stay for all epochs. Memory is pinned if *device* is a GPU, and only then; the
    number of workers does not matter for this.
    """
    # TODO: DistributedSampler asks the group for rank and size.
    # YOUR CODE HERE
    raise NotImplementedError()


def train_epoch(model, loader, criterion, optimizer, device, amp=False, accumulate=1, on_step=None) -> torch.Tensor:
    """Train for an epoch. Return a tensor of two numbers.

    The first is the sum of the losses of all samples of this process, and the second is the number of these samples.
    *model* is a DistributedDataParallel. One step takes *accumulate* batches. Its gradient is the mean over all
    their samples, in all processes. Only the last batch of a step communicates. An epoch is made of whole steps of
    equal batches.
    *amp*: the forward pass and the loss run under autocast in bfloat16. on_step() is called after each step.
    """
    # TODO: model.no_sync() around forward and backward of all batches of a step but the last.
    # YOUR CODE HERE
    raise NotImplementedError()


@torch.no_grad()
def evaluate(model, dataset, batch_size, device) -> float:
    """Return the accuracy over all samples of *dataset*, each counted once; the same in every process."""
    # TODO: each process takes a share, without padding; add up counts, and divide once. Call model.module.
    # YOUR CODE HERE
    raise NotImplementedError()


def train(options, device) -> dict[str, Any]:
    """Train as the options say; return the numbers of the whole group.

    samples   of an epoch, of all processes together
    steps     of the optimizer, in all epochs
    seconds   a list: for each epoch of training, the time of the slowest process (the test comes after all epochs)
    peak_mb   a list: given.peak_mb(device) of each process, by rank
    accuracy  on the test set, each sample counted once
    loss      the mean of the losses of training in the last epoch, over the samples of all processes
    """
    # TODO: make_datasets(options.samples), make_training(device), DistributedDataParallel, sampler.set_epoch(epoch).
    # TODO: a number of one process becomes the group's by dist.all_reduce or dist.all_gather_object. Send the sum of
    # the losses once an epoch. Take times with time.perf_counter().
    # TODO: options.profile: one more epoch after the test, inside `with profiled(options.profile) as on_step:`.
    # YOUR CODE HERE
    raise NotImplementedError()


def main(argv=None) -> None:
    """Train as one process of the group; the process of rank 0 alone writes the numbers, one JSON object.

    The group is destroyed at the end, also after an exception.
    """
    # TODO: read_options(argv), join(), train(options, device); options.result is the file, if there is one.
    # YOUR CODE HERE
    raise NotImplementedError()


if __name__ == "__main__":
    main()
