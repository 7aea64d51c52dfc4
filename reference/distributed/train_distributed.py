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
    ### BEGIN SOLUTION
    if torch.cuda.device_count() < int(os.environ.get("LOCAL_WORLD_SIZE", "1")):
        dist.init_process_group("gloo")
        return torch.device("cpu")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl")
    return device
    ### END SOLUTION


def make_loader(dataset, batch_size, workers, device) -> tuple[DataLoader[Any], DistributedSampler[Any]]:
    """Return a loader of this process's share, shuffled, and its sampler.

    *workers* processes load data and stay for all epochs. Memory is pinned if *device* is a GPU, and only then; the
    number of workers does not matter for this.
    """
    # TODO: DistributedSampler asks the group for rank and size.
    ### BEGIN SOLUTION
    sampler = DistributedSampler(dataset, shuffle=True)
    on_gpu = device.type == "cuda"
    ahead = {"persistent_workers": True, "prefetch_factor": 4} if workers else {}
    loader = DataLoader(dataset, batch_size, sampler=sampler, num_workers=workers, pin_memory=on_gpu, **ahead)
    return loader, sampler
    ### END SOLUTION


def train_epoch(model, loader, criterion, optimizer, device, amp=False, accumulate=1, on_step=None) -> torch.Tensor:
    """Train for an epoch. Return a tensor of two numbers.

    The first is the sum of the losses of all samples of this process, and the second is the number of these samples.
    *model* is a DistributedDataParallel. One step takes *accumulate* batches. Its gradient is the mean over all
    their samples, in all processes. Only the last batch of a step communicates. An epoch is made of whole steps of
    equal batches.
    *amp*: the forward pass and the loss run under autocast in bfloat16. on_step() is called after each step.
    """
    # TODO: model.no_sync() around forward and backward of all batches of a step but the last.
    ### BEGIN SOLUTION
    model.train()
    total = torch.zeros(2, dtype=torch.float64, device=device)
    optimizer.zero_grad()
    for number, (inputs, labels) in enumerate(loader, 1):
        inputs, labels = inputs.to(device, non_blocking=True), labels.to(device, non_blocking=True)
        last = number % accumulate == 0
        with nullcontext() if last else model.no_sync():
            with torch.autocast(device.type, dtype=torch.bfloat16, enabled=amp):
                loss = criterion(model(inputs), labels)
            (loss / accumulate).backward()
        total[0] += loss.detach() * len(labels)
        total[1] += len(labels)
        if last:
            optimizer.step()
            optimizer.zero_grad()
            if on_step is not None:
                on_step()
    return total
    ### END SOLUTION


@torch.no_grad()
def evaluate(model, dataset, batch_size, device) -> float:
    """Return the accuracy over all samples of *dataset*, each counted once; the same in every process."""
    # TODO: each process takes a share, without padding; add up counts, and divide once. Call model.module.
    ### BEGIN SOLUTION
    rank, world = dist.get_rank(), dist.get_world_size()
    model.eval()
    counts = torch.zeros(2, dtype=torch.float64, device=device)  # right ones, all
    for inputs, labels in DataLoader(Subset(dataset, range(rank, len(dataset), world)), batch_size):
        predicted = model.module(inputs.to(device)).argmax(dim=1)
        counts[0] += (predicted == labels.to(device)).sum()
        counts[1] += len(labels)
    dist.all_reduce(counts)
    return (counts[0] / counts[1]).item()
    ### END SOLUTION


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
    ### BEGIN SOLUTION
    dataset, test = make_datasets(options.samples)
    model, criterion, optimizer = make_training(device)
    parallel = DistributedDataParallel(model)
    loader, sampler = make_loader(dataset, options.batch_size, options.workers, device)

    def epoch(on_step=None) -> torch.Tensor:
        how = options.amp, options.accumulate, on_step
        return train_epoch(parallel, loader, criterion, optimizer, device, *how)

    def now() -> float:
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        return time.perf_counter()

    seconds = []
    for number in range(options.epochs):
        sampler.set_epoch(number)
        start = now()
        total = epoch()
        longest = torch.tensor(now() - start, dtype=torch.float64, device=device)
        dist.all_reduce(longest, op=dist.ReduceOp.MAX)
        seconds.append(longest.item())
    dist.all_reduce(total)
    peaks = [0.0] * dist.get_world_size()
    dist.all_gather_object(peaks, peak_mb(device))
    figures = {
        "samples": options.samples,
        "steps": options.epochs * len(loader) // options.accumulate,
        "seconds": seconds,
        "peak_mb": peaks,
        "accuracy": evaluate(parallel, test, options.batch_size, device),
        "loss": (total[0] / total[1]).item(),
    }
    if options.profile:
        with profiled(options.profile) as on_step:
            epoch(on_step)
    return figures
    ### END SOLUTION


def main(argv=None) -> None:
    """Train as one process of the group; the process of rank 0 alone writes the numbers, one JSON object.

    The group is destroyed at the end, also after an exception.
    """
    # TODO: read_options(argv), join(), train(options, device); options.result is the file, if there is one.
    ### BEGIN SOLUTION
    options = read_options(argv)
    device = join()
    try:
        figures = train(options, device)
        if options.result and dist.get_rank() == 0:
            Path(options.result).write_text(json.dumps(figures), encoding="utf-8")
    finally:
        dist.destroy_process_group()
    ### END SOLUTION


if __name__ == "__main__":
    main()
