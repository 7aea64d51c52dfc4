"""Two nodes of two processes each, forked from this one: what they have on average, and who talks to whom."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch
import torch.distributed as dist

from autograder.worker.rigs import group_processes
from autograder.worker.rigs.collectives import MOST, Collectives
from autograder.worker.rigs.returned import flat

NODES, PROCESSES = 2, 2
WORLD = NODES * PROCESSES
TURNS = 2  # the second one shows what the first left behind
SECONDS = 30.0  # in all, on one busy core


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
            "own": np.array(
                [
                    [np.concatenate([it.ravel() for it in turn[rank]]) for turn in self.drawn]
                    for rank in range(WORLD)
                ]
            ).ravel(),
        }

    def together(self, student: ModuleType) -> dict[str, Any]:
        ranks = group_processes.together(
            WORLD, _place, lambda rank: self._averaged(rank, student), self._folder, SECONDS
        )
        means = np.concatenate([np.array(rank["means"], dtype=np.float64) for rank in ranks])
        calls = [rank["calls"] for rank in ranks]
        return {"calls": calls, "numbers": self.numbers, "means": means, "own": np.zeros(0)}

    def _averaged(self, rank: int, student: ModuleType) -> dict[str, Any]:
        dist.init_process_group(backend="gloo")
        node, between = student.node_groups(PROCESSES)
        means: list[float] = []
        with Collectives() as collectives:
            for turn in self.drawn:
                tensors = [torch.tensor(it, dtype=torch.float32) for it in turn[rank]]
                student.average_over_nodes(
                    list(tensors), node, between
                )  # numbers are to change, not who is in a list
                means += flat(tensors).tolist()
        calls = [
            {"ranks": call["ranks"], "numbers": call["numbers"]}
            for call in collectives.calls
            if call["kind"] != "barrier"
        ]
        return {"calls": calls[:MOST], "means": means}


def _place(rank: int) -> dict[str, int]:
    return {
        "LOCAL_RANK": rank % PROCESSES,
        "LOCAL_WORLD_SIZE": PROCESSES,
        "GROUP_RANK": rank // PROCESSES,
    }
