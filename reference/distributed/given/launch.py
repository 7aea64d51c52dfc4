"""Processes of one group, started from a file that is run with `python`."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable

import torch
import torch.distributed as dist
import torch.multiprocessing


def start(work: Callable[[int, torch.device], None], processes: int = 2) -> None:
    """Call work(rank, device) in so many processes, which have joined a group: one for each GPU, else on the CPU.

    `work` is a function of the file itself, so that a new process finds it there.
    """
    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    torch.multiprocessing.spawn(_join, (work, processes, gpus >= processes, port), nprocs=processes)


def _join(rank: int, work: Callable[[int, torch.device], None], world: int, on_gpus: bool, port: int) -> None:
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(rank), WORLD_SIZE=str(world))
    os.environ.update(LOCAL_RANK=str(rank))
    device = torch.device("cuda", rank) if on_gpus else torch.device("cpu")
    if on_gpus:
        torch.cuda.set_device(device)
    torch.set_num_threads(1)  # with more, processes on one machine take each other's cores
    dist.init_process_group("nccl" if on_gpus else "gloo")
    try:
        work(rank, device)
        dist.barrier()  # a process that ends early breaks the connections of the others
    finally:
        dist.destroy_process_group()
