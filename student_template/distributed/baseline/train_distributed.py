"""train_distributed.py before the work: each batch communicates, and the numbers are those of one process.

Yours is compared with one process on the joined batches.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

from given import make_datasets, make_training, peak_mb, profiled, read_options


def main(argv=None) -> None:
    """Train; every process writes its own numbers into the one file."""
    options = read_options(argv)
    dist.init_process_group()
    on_gpu = torch.cuda.device_count() >= dist.get_world_size()
    device = torch.device("cuda", dist.get_rank()) if on_gpu else torch.device("cpu")
    dataset, test = make_datasets(options.samples)
    model, criterion, optimizer = make_training(device)
    parallel = DistributedDataParallel(model)
    loader = DataLoader(dataset, options.batch_size, sampler=DistributedSampler(dataset), num_workers=options.workers)
    seconds = []
    losses = []

    def epoch(on_step=lambda: None) -> None:
        for number, (inputs, labels) in enumerate(loader, 1):
            with torch.autocast(device.type, dtype=torch.bfloat16, enabled=options.amp):
                loss = criterion(parallel(inputs.to(device)), labels.to(device)) / options.accumulate
            loss.backward()
            losses.append(loss.item() * options.accumulate)
            if number % options.accumulate == 0:
                optimizer.step()
                optimizer.zero_grad()
                on_step()

    for _ in range(options.epochs):
        start = time.perf_counter()
        epoch()
        seconds.append(time.perf_counter() - start)
    right = total = 0
    with torch.no_grad():
        for inputs, labels in DataLoader(test, options.batch_size, sampler=DistributedSampler(test)):
            right += (model(inputs.to(device)).argmax(dim=1) == labels.to(device)).sum().item()
            total += len(labels)
    figures = {
        "samples": options.samples,
        "steps": options.epochs * len(loader) // options.accumulate,
        "seconds": seconds,
        "peak_mb": [peak_mb(device)],
        "accuracy": right / total,
        "loss": losses[-1],
    }
    if options.result:
        Path(options.result).write_text(json.dumps(figures), encoding="utf-8")
    if options.profile:
        with profiled(options.profile) as on_step:
            epoch(on_step)


if __name__ == "__main__":
    main()
