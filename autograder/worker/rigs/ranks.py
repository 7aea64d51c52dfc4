"""Several processes that train together, forked from this one; and what they have to arrive at, trained in one."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.utils.data import Dataset, DistributedSampler

from autograder.worker.rigs import group_processes
from autograder.worker.rigs.collectives import Collectives
from autograder.worker.rigs.returned import Returned, flat, series, text

WORLD = 2  # processes
SECONDS = 15.0  # in all, where a probe says nothing else
FEATURES, CLASSES = 6, 4
WEIGHTS = "weights.pt"
KEPT = [f"{name}{rank}" for name in ("weights", "losses") for rank in range(WORLD)]
# Each process has a machine of its own.
ALONE = {
    "LOCAL_RANK": 0,
    "LOCAL_WORLD_SIZE": 1,
}


class Rows(Dataset[tuple[Tensor, Tensor]]):
    """Vectors and their classes; keeps the order in which they were asked for."""

    def __init__(self, seed: int, samples: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        self.vectors = torch.randn(samples, FEATURES, generator=generator)
        self.labels = torch.randint(0, CLASSES, (samples,), generator=generator)
        self.asked: list[int] = []
        self.wait: Callable[[], None] = lambda: None
        """What loading a sample takes."""

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        self.wait()
        self.asked.append(int(index))
        return self.vectors[index], self.labels[index]


def network(seed: int, hidden: int = 8, *between: nn.Module) -> nn.Module:
    """Return a network for `Rows`, with weights that follow from the seed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        first, last = nn.Linear(FEATURES, hidden), nn.Linear(hidden, CLASSES)
    return nn.Sequential(first, nn.Tanh(), *between, last)


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
        self._seed = seed
        self._folder = folder
        self._figures = tuple(figures)
        self._seconds = seconds
        self.batch_size = int(random.integers(3, 6))
        self.epochs = 3
        self.order = int(random.integers(1, 1000))
        rest = int(random.integers(1, self.batch_size))
        self.samples = WORLD * (self.batch_size * int(random.integers(2, 4)) + rest) - 1
        # So that another one shows.
        self.criterion: Callable[..., Any] = nn.CrossEntropyLoss(label_smoothing=0.2)
        self.make_optimizer = make_optimizer

    @property
    def steps(self) -> int:
        return -(-self.samples // (WORLD * self.batch_size))

    def model(self, rank: int) -> nn.Module:
        """Return the weights that a process starts from; they differ."""
        return network(self._seed + rank)

    def alone(self) -> dict[str, Any]:
        """Train in one process, on the batches of all joined; answer as they have to, and beside it what it has
        when every epoch has the order of the first, as without set_epoch.
        """
        kept = self._alone(anew=False)
        return {
            **self._alone(anew=True),
            **{f"kept_{name}": kept[name] for name in KEPT},
        }

    def _alone(self, *, anew: bool) -> dict[str, Any]:
        dataset = Rows(self._seed, self.samples)
        model = self.model(0)
        losses = []
        optimizer = make_optimizer(model.parameters())
        read: list[list[int]] = [[] for _ in range(WORLD)]
        samplers: list[Any] = [
            DistributedSampler(dataset, WORLD, rank, shuffle=True, seed=self.order)
            for rank in range(WORLD)
        ]
        for epoch in range(self.epochs):
            for sampler in samplers:
                sampler.set_epoch(epoch if anew else 0)
            orders = [list(sampler) for sampler in samplers]
            total = 0.0
            samples_so_far = 0
            for mine, order in zip(read, orders, strict=True):
                mine.extend(order)
            for at in range(0, len(orders[0]), self.batch_size):
                batch = [index for order in orders for index in order[at : at + self.batch_size]]
                optimizer.zero_grad()
                loss = self.criterion(model(dataset.vectors[batch]), dataset.labels[batch])
                loss.backward()
                optimizer.step()
                total = total + loss.item() * len(batch)
                samples_so_far = samples_so_far + len(batch)
            losses.append(total / samples_so_far)
        weights = flat(dict(model.state_dict()))
        files = [[WEIGHTS], *[[]] * (WORLD - 1)]
        of_ranks = [
            {"asked": mine, "files": names, "open": False, "steps": []}
            for mine, names in zip(read, files, strict=True)
        ]
        return self._answer(
            of_ranks,
            [weights] * WORLD,
            {"losses": [np.array(losses)] * WORLD},
            dict(model.state_dict()),
        )

    def together(self, train: Train, call: Call | None = None) -> dict[str, Any]:
        """Let each process *call* a student's function; answer with what each of them has then."""
        work = partial(self._trained, train, call or train_distributed)
        of_ranks = group_processes.together(
            WORLD,
            lambda _: ALONE,
            work,
            self._folder,
            self._seconds or SECONDS,
        )
        weights = [np.array(rank.pop("weights")) for rank in of_ranks]
        figures = {name: [np.array(rank.pop(name)) for rank in of_ranks] for name in self._figures}
        return self._answer(of_ranks, weights, figures, _saved(self.home(0) / WEIGHTS))

    def left_open(self, train: Train) -> bool:
        """Whether a process group is still there after a training, of one process, in which the criterion raised."""

        def work(_: int) -> dict[str, Any]:
            self.criterion = raising
            with contextlib.suppress(Exception):
                train_distributed(
                    self,
                    train,
                    0,
                    self.model(0),
                    Rows(self._seed, self.samples),
                )
            return {"open": dist.is_initialized()}

        return bool(
            group_processes.together(
                1,
                lambda _: ALONE,
                work,
                self._folder,
                self._seconds or SECONDS,
            )[0]["open"]
        )

    def _answer(
        self,
        of_ranks: list[Any],
        weights: list[Any],
        figures: dict[str, list[Any]],
        saved: dict[str, Any],
    ) -> dict[str, Any]:
        arrays = {
            f"{name}{rank}": each[rank]
            for name, each in {"weights": weights, **figures}.items()
            for rank in range(WORLD)
        }
        arrays |= {f"kept_{name}": np.zeros(0) for name in KEPT}
        for rank in range(WORLD):
            arrays[f"start{rank or ''}"] = flat(dict(self.model(rank).state_dict()))
        arrays["saved"] = flat(saved) if saved else np.zeros(0)
        return {
            "samples": self.samples,
            "ranks": of_ranks,
            "names": [text(name) for name in saved][:64],
            **arrays,
        }

    def home(self, rank: int) -> Path:
        return self._folder / f"rank{rank}"

    def _trained(self, train: Train, call: Call, rank: int) -> dict[str, Any]:
        self.home(rank).mkdir()
        dataset = Rows(self._seed, self.samples)
        model = self.model(rank)
        with Collectives() as collectives:
            returned = Returned(call.__name__, call(self, train, rank, model, dataset))
        return {
            **{name: series(returned[name], name).tolist() for name in self._figures},
            "weights": flat(dict(model.state_dict())).tolist(),
            "asked": dataset.asked[:4096],
            "files": sorted(path.name for path in self.home(rank).iterdir())[:16],
            "open": dist.is_initialized(),
            "steps": collectives.settled(),
        }


def raising(*_: Any) -> Any:
    """Be a criterion that fails."""
    raise ArithmeticError("the loss is not finite")


Train = Callable[..., Any]
Call = Callable[[Ranks, Train, int, nn.Module, Rows], Any]
"""Calls the student's function of the same name in the process of a rank, and returns what that returned."""


def train_distributed(
    training: Ranks,
    train: Train,
    rank: int,
    model: nn.Module,
    dataset: Rows,
) -> Any:
    """Call a function that makes the process group itself, and writes."""
    arguments = (
        model,
        dataset,
        training.criterion,
        make_optimizer,
        training.batch_size,
        training.epochs,
    )
    return train(*arguments, seed=training.order, folder=str(training.home(rank)))


def _saved(file: Path) -> dict[str, Any]:
    """Return the state_dict in a file; empty where there is none that can be read."""
    with contextlib.suppress(Exception):
        loaded = torch.load(file, weights_only=True)
        return {name: value for name, value in loaded.items() if isinstance(value, Tensor)}
    return {}
