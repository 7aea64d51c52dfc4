"""Two nodes of two processes each, forked from this one: what they have on average, and who talks to whom."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor
from torch.utils._pytree import tree_leaves

from autograder.worker.rigs import forked
from autograder.worker.rigs.returned import flat

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
        self._folder = folder
        shapes = [
            (int(random.integers(2, 9)), int(random.integers(2, 9))),
            (int(random.integers(2, 30)),),
            (),
        ]
        self.drawn = [
            [[random.normal(size=it) for it in shapes] for _ in range(WORLD)] for _ in range(TURNS)
        ]
        self.numbers = sum(int(np.prod(it)) for it in shapes)

    def alone(self) -> dict[str, Any]:
        """Return the means, in the form in which the processes answer."""
        means = [
            np.concatenate([np.mean(it, axis=0).ravel() for it in zip(*turn, strict=True)])
            for turn in self.drawn
        ]
        return {
            "calls": [[]] * WORLD,
            "numbers": self.numbers,
            "means": np.concatenate(means * WORLD),
        }

    def together(self, student: ModuleType) -> dict[str, Any]:
        told = forked.together(
            WORLD, _place, lambda rank: self._averaged(rank, student), self._folder, SECONDS
        )
        means = np.concatenate([np.array(one["means"], dtype=np.float64) for one in told])
        return {"calls": [one["calls"] for one in told], "numbers": self.numbers, "means": means}

    def _averaged(self, rank: int, student: ModuleType) -> dict[str, Any]:
        dist.init_process_group(backend="gloo")
        node, between = student.node_groups(PROCESSES)
        calls: list[dict[str, Any]] = []
        means: list[float] = []
        watch(calls)
        for turn in self.drawn:
            tensors = [torch.tensor(it, dtype=torch.float32) for it in turn[rank]]
            student.average_over_nodes(
                list(tensors), node, between
            )  # numbers are to change, not who is in a list
            means += flat(tensors).tolist()
        return {"calls": calls[:64], "means": means}


def _place(rank: int) -> dict[str, int]:
    return {
        "LOCAL_RANK": rank % PROCESSES,
        "LOCAL_WORLD_SIZE": PROCESSES,
        "GROUP_RANK": rank // PROCESSES,
    }


def watch(calls: list[dict[str, Any]]) -> None:
    """Note every collective call of this process from now on: whose it is, and how many numbers it takes."""
    inside: list[str] = []

    def noted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            if not inside:
                calls.append(_who(function, args, kwargs))
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
    said = inspect.signature(function).bind(*args, **kwargs).arguments
    group, peer = said.get("group"), said.get("dst", said.get("src"))
    ranks = (
        dist.get_process_group_ranks(group)
        if isinstance(group, dist.ProcessGroup)
        else list(range(dist.get_world_size()))
    )
    if group == dist.GroupMember.NON_GROUP_MEMBER:
        ranks = []
    if isinstance(peer, int) and function.__name__ in {"send", "recv", "isend", "irecv"}:
        ranks = sorted({dist.get_rank(), peer})
    most = max(
        (it.numel() for it in tree_leaves((args, kwargs)) if isinstance(it, Tensor)), default=0
    )
    return {"ranks": ranks, "numbers": most}
