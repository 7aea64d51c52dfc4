"""Two nodes of two processes each, forked from this one: what they have on average, and who talks to whom."""

from __future__ import annotations

import inspect
import json
import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from time import monotonic as _now  # real time: bound before a probe moves the clock
from time import sleep as _pause
from types import ModuleType
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor
from torch.utils._pytree import tree_leaves

from autograder.worker.returned import BadReturn, flat, text

NODES, PROCESSES = 2, 2
WORLD = NODES * PROCESSES
TURNS = 2  # the second one shows what the first left behind
SECONDS = 30.0  # in all, on one busy core
COLLECTIVES = (
    "all_reduce", "reduce", "broadcast", "all_gather", "all_gather_into_tensor", "gather", "scatter", "reduce_scatter",
    "reduce_scatter_tensor", "all_to_all", "all_to_all_single", "send", "recv", "isend", "irecv",
    "broadcast_object_list", "all_gather_object", "gather_object", "all_reduce_coalesced", "batch_isend_irecv",
)  # fmt: skip


class Nodes:
    """`rig.nodes`: tensors of several shapes in each of the processes."""

    def __init__(self, random: np.random.Generator, folder: Path) -> None:
        """Draw them for all processes and turns."""
        self._folder = folder
        shapes = [(int(random.integers(2, 9)), int(random.integers(2, 9))), (int(random.integers(2, 30)),), ()]
        self.drawn = [[[random.normal(size=it) for it in shapes] for _ in range(WORLD)] for _ in range(TURNS)]
        self.numbers = sum(int(np.prod(it)) for it in shapes)

    def alone(self) -> dict[str, Any]:
        """Return the means, in the form in which the processes answer."""
        means = [np.concatenate([np.mean(it, axis=0).ravel() for it in zip(*turn, strict=True)]) for turn in self.drawn]
        return {"calls": [[]] * WORLD, "numbers": self.numbers, "means": np.concatenate(means * WORLD)}

    def together(self, student: ModuleType) -> dict[str, Any]:
        """Let each process make the groups and take the means."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        _wait({os.fork() or self._become(rank, port, student): rank for rank in range(WORLD)}, self._told)
        told = [json.loads(self._told(rank).read_text()) for rank in range(WORLD)]
        means = np.concatenate([np.array(one["means"], dtype=np.float64) for one in told])
        return {"calls": [one["calls"] for one in told], "numbers": self.numbers, "means": means}

    def _told(self, rank: int) -> Path:
        return self._folder / f"told{rank}.json"

    def _become(self, rank: int, port: int, student: ModuleType) -> int:
        """Be one process of the group, as torchrun would start it on its node; never return."""
        place = {"RANK": rank, "WORLD_SIZE": WORLD, "LOCAL_RANK": rank % PROCESSES, "LOCAL_WORLD_SIZE": PROCESSES}
        place |= {"GROUP_RANK": rank // PROCESSES, "MASTER_PORT": port}
        os.environ.update({name: str(value) for name, value in place.items()}, MASTER_ADDR="127.0.0.1")
        os.environ["GLOO_SOCKET_IFNAME"] = "lo"
        told: dict[str, Any] = {}
        try:
            dist.init_process_group("gloo")
            told = self._averaged(rank, student)
        except BaseException as error:
            told = {"error": f"{type(error).__name__}: {error}", "unwritten": isinstance(error, NotImplementedError)}
            traceback.print_exc()
        finally:
            self._told(rank).write_text(json.dumps(told))
            sys.stdout.flush()
            os._exit(0)

    def _averaged(self, rank: int, student: ModuleType) -> dict[str, Any]:
        node, between = student.node_groups(PROCESSES)
        calls: list[dict[str, Any]] = []
        means: list[float] = []
        watch(calls)
        for turn in self.drawn:
            tensors = [torch.tensor(it, dtype=torch.float32) for it in turn[rank]]
            student.average_over_nodes(tensors, node, between)
            means += flat(tensors).tolist()
        return {"calls": calls[:64], "means": means}


def watch(calls: list[dict[str, Any]]) -> None:
    """Note every collective call of this process from now on: its name, whose it is, and how many numbers it takes."""
    inside: list[str] = []

    def noted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            if not inside:
                calls.append({"name": name, **_who(function, args, kwargs)})
            inside.append(name)
            try:
                return function(*args, **kwargs)
            finally:
                inside.pop()

        return call

    for name in COLLECTIVES:
        wrapped = noted(name, getattr(dist, name)) if hasattr(dist, name) else None
        if wrapped is not None:
            setattr(dist, name, wrapped)
            setattr(dist.distributed_c10d, name, wrapped)


def _who(function: Callable[..., Any], args: Any, kwargs: Any) -> dict[str, Any]:
    """Say which ranks a call is between; who is in none of them is in no call."""
    said = inspect.signature(function).bind(*args, **kwargs).arguments
    group, peer = said.get("group"), said.get("dst", said.get("src"))
    ranks = dist.get_process_group_ranks(group) if isinstance(group, dist.ProcessGroup) else list(range(WORLD))
    if group == dist.GroupMember.NON_GROUP_MEMBER:
        ranks = []
    if isinstance(peer, int) and function.__name__ in {"send", "recv", "isend", "irecv"}:
        ranks = sorted({dist.get_rank(), peer})
    most = max((it.numel() for it in tree_leaves((args, kwargs)) if isinstance(it, Tensor)), default=0)
    return {"ranks": ranks, "numbers": most}


def _wait(children: dict[int, int], told: Callable[[int], Path]) -> None:
    """Wait for all processes; when one fails, or time is up, the others are ended: they wait for it in vain."""
    until, left = _now() + SECONDS, dict(children)
    try:
        while left:
            done = next((pid for pid in left if os.waitpid(pid, os.WNOHANG)[0]), 0)
            if done:
                _complain(told(rank := left.pop(done)), rank)
            elif _now() > until:
                raise BadReturn(f"{len(left)} processes did not end: do all of them make the same collective calls?")
            else:
                _pause(0.005)
    finally:
        for pid in left:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def _complain(file: Path, rank: int) -> None:
    """Raise what a process failed with."""
    said = json.loads(file.read_text()) if file.exists() else {"error": "ended without a word"}
    if said.get("unwritten"):
        raise BadReturn("node_groups or average_over_nodes is not written yet")
    if "error" in said:
        raise BadReturn(f"in the process of rank {rank}: {text(said['error'])}")
