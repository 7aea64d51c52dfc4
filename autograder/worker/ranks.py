"""Several processes that train together, forked from this one; and what they have to arrive at, trained in one."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic as _now  # real time: bound before a probe moves the clock
from time import sleep as _pause
from types import ModuleType
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.utils.data import Dataset, DistributedSampler

from autograder.worker.returned import BadReturn, Returned, flat, series, text

WORLD = 2  # processes
SECONDS = 15.0  # in all, where a probe says nothing else
FEATURES, CLASSES = 6, 4
WEIGHTS = "weights.pt"


class Rows(Dataset[tuple[Tensor, Tensor]]):
    """Vectors and their classes; keeps the order in which they were asked for."""

    def __init__(self, seed: int, samples: int) -> None:
        """Draw them from *seed*."""
        generator = torch.Generator().manual_seed(seed)
        self.vectors = torch.randn(samples, FEATURES, generator=generator)
        self.labels = torch.randint(0, CLASSES, (samples,), generator=generator)
        self.asked: list[int] = []

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self.labels)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        """Return one, and remember that."""
        self.asked.append(int(index))
        return self.vectors[index], self.labels[index]


def make_optimizer(parameters: Any) -> torch.optim.Optimizer:
    """Return one that remembers: a step too many is seen."""
    return torch.optim.SGD(parameters, lr=0.1, momentum=0.9)


class Ranks:
    """`rig.ranks`: one training, for the processes of a group."""

    def __init__(
        self,
        random: np.random.Generator,
        seed: int,
        folder: Path,
        figures: Sequence[str] = ("losses",),
        seconds: float | None = None,
    ) -> None:
        """Draw an odd number of samples, and a batch size that leaves each process a shorter batch at the end.

        *figures* are series that the student's function returns, a number for each epoch; all of it has *seconds*.
        """
        self._seed, self._folder, self._figures, self._seconds = seed, folder, tuple(figures), seconds
        self.batch_size, self.epochs, self.order = int(random.integers(3, 6)), 3, int(random.integers(1, 1000))
        rest = int(random.integers(1, self.batch_size))
        self.samples = WORLD * (self.batch_size * int(random.integers(2, 4)) + rest) - 1
        self.criterion, self.make_optimizer = nn.CrossEntropyLoss(), make_optimizer

    @property
    def steps(self) -> int:
        """Return how many batches a process takes in an epoch."""
        return -(-self.samples // (WORLD * self.batch_size))

    def model(self, rank: int) -> nn.Module:
        """Return the weights that a process starts from; they differ."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self._seed + rank)
            return nn.Sequential(nn.Linear(FEATURES, 8), nn.Tanh(), nn.Linear(8, CLASSES))

    def alone(self) -> dict[str, Any]:
        """Train in one process, on the batches of all processes joined; answer as they have to."""
        dataset, model, losses = Rows(self._seed, self.samples), self.model(0), []
        optimizer = make_optimizer(model.parameters())
        samplers: list[Any] = [
            DistributedSampler(dataset, WORLD, rank, shuffle=True, seed=self.order) for rank in range(WORLD)
        ]
        for epoch in range(self.epochs):
            for sampler in samplers:
                sampler.set_epoch(epoch)
            orders, total, seen = [list(sampler) for sampler in samplers], 0.0, 0
            for at in range(0, len(orders[0]), self.batch_size):
                batch = [index for order in orders for index in order[at : at + self.batch_size]]
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(model(dataset.vectors[batch]), dataset.labels[batch])
                loss.backward()
                optimizer.step()
                total, seen = total + loss.item() * len(batch), seen + len(batch)
            losses.append(total / seen)
        weights = flat(dict(model.state_dict()))
        files = [[WEIGHTS], *[[]] * (WORLD - 1)]
        told = [{"asked": [], "files": names, "open": False} for names in files]
        return self._answer(told, [weights] * WORLD, {"losses": [np.array(losses)] * WORLD}, dict(model.state_dict()))

    def together(self, student: ModuleType, call: Call | None = None) -> dict[str, Any]:
        """Let each process *call* the student's function; answer with what each of them has then."""
        importlib.import_module("torch._dynamo")  # DistributedDataParallel does; two seconds, here and not in each
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        run = call or train_distributed
        children = {os.fork() or self._become(rank, port, student, run): rank for rank in range(WORLD)}
        _wait(children, self._told, self._seconds or SECONDS)
        told = [json.loads(self._told(rank).read_text()) for rank in range(WORLD)]
        weights = [np.array(one.pop("weights")) for one in told]
        figures = {name: [np.array(one.pop(name)) for one in told] for name in self._figures}
        return self._answer(told, weights, figures, _saved(self.home(0) / WEIGHTS))

    def _answer(
        self, told: list[Any], weights: list[Any], figures: dict[str, list[Any]], saved: dict[str, Any]
    ) -> dict[str, Any]:
        arrays = {f"weights{rank}": weights[rank] for rank in range(WORLD)}
        arrays |= {f"{name}{rank}": series[rank] for name, series in figures.items() for rank in range(WORLD)}
        arrays |= {"start": flat(dict(self.model(0).state_dict())), "saved": flat(saved) if saved else np.zeros(0)}
        return {"samples": self.samples, "ranks": told, "names": [text(name) for name in saved][:64], **arrays}

    def home(self, rank: int) -> Path:
        """Return the folder that a process may write in."""
        return self._folder / f"rank{rank}"

    def _told(self, rank: int) -> Path:
        return self._folder / f"told{rank}.json"

    def _become(self, rank: int, port: int, student: ModuleType, call: Call) -> int:
        """Be one process of the group, alone on its machine, as torchrun would start it; never return."""
        os.environ.update(RANK=str(rank), WORLD_SIZE=str(WORLD), LOCAL_RANK="0", LOCAL_WORLD_SIZE="1")
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), GLOO_SOCKET_IFNAME="lo")
        told: dict[str, Any] = {}
        try:
            self.home(rank).mkdir()
            told = self._trained(rank, student, call)
        except BaseException as error:
            told = {"error": f"{type(error).__name__}: {error}", "unwritten": _unwritten(error)}
            traceback.print_exc()
        finally:
            self._told(rank).write_text(json.dumps(told))
            sys.stdout.flush()
            os._exit(0)

    def _trained(self, rank: int, student: ModuleType, call: Call) -> dict[str, Any]:
        dataset, model = Rows(self._seed, self.samples), self.model(rank)
        torch.cuda.is_available = lambda: False  # processes of one group cannot share a GPU
        returned = Returned(call.__name__, call(self, student, rank, model, dataset))
        return {
            **{name: series(returned[name], name).tolist() for name in self._figures},
            "weights": flat(dict(model.state_dict())).tolist(),
            "asked": dataset.asked[:4096],
            "files": sorted(path.name for path in self.home(rank).iterdir())[:16],
            "open": dist.is_initialized(),
        }


Call = Callable[[Ranks, ModuleType, int, nn.Module, Rows], Any]
"""Calls the student's function of the same name in the process of a rank, and returns what that returned."""


def train_distributed(training: Ranks, student: ModuleType, rank: int, model: nn.Module, dataset: Rows) -> Any:
    """Call a function that makes the process group itself, and writes."""
    arguments = (model, dataset, training.criterion, make_optimizer, training.batch_size, training.epochs)
    return student.train_distributed(*arguments, seed=training.order, folder=str(training.home(rank)))


def _wait(children: dict[int, int], told: Callable[[int], Path], seconds: float) -> None:
    """Wait for all processes; when one fails, or time is up, the others are ended: they wait for it in vain."""
    until, left = _now() + seconds, dict(children)
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
        raise BadReturn(f"{text(said['unwritten'], 60)} is not written yet")
    if "error" in said:
        raise BadReturn(f"in the process of rank {rank}: {text(said['error'])}")


def _unwritten(error: BaseException) -> str:
    """Return the function that is not written yet, if that is what happened."""
    there = isinstance(error, NotImplementedError) and not str(error)
    return traceback.extract_tb(error.__traceback__)[-1].name if there else ""


def _saved(file: Path) -> dict[str, Any]:
    """Return the state_dict in a file; empty where there is none that can be read."""
    with contextlib.suppress(Exception):
        found = torch.load(file, weights_only=True)
        return {name: value for name, value in found.items() if isinstance(value, Tensor)}
    return {}
