"""What the probes of part 6 work with: one training, by a program in two processes and by trusted code in one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.utils.data import DataLoader

from autograder.worker import rig as worker
from autograder.worker.rigs import group_processes
from autograder.worker.rigs.collectives import Collectives
from autograder.worker.rigs.programs import Program
from autograder.worker.rigs.ranks import ALONE, CLASSES, FEATURES, WORLD, Rows
from autograder.worker.rigs.returned import BadReturn, Returned, dtype_name, flat, number, series

EPOCHS = 3  # of one step each, so that order does not matter
GROUP = 4  # batches of a step, where they are accumulated
WIDTH = 64
SECONDS = 30.0  # in all, on a machine where much else runs
TESTING = 50.0  # seconds that a pass over test samples takes
FIGURES = ("samples", "steps", "accuracy", "loss")


@contextmanager
def built() -> Iterator[list[dict[str, Any]]]:
    """Note the loaders that are made. They load in their own process: workers would take a second to start."""
    made: list[dict[str, Any]] = []
    begin = DataLoader.__init__

    @wraps(begin)
    def init(loader: DataLoader[Any], *args: Any, **kwargs: Any) -> None:
        begin(loader, *args, **kwargs)
        options = ("num_workers", "pin_memory", "persistent_workers")
        made.append({name: int(getattr(loader, name)) for name in options})
        loader.num_workers = 0

    with patch.object(DataLoader, "__init__", init):
        yield made


class Labelled(Rows):
    """Rows whose classes are numbers, as those of the data that the lab gives."""

    def __getitem__(self, index: int) -> tuple[Tensor, Any]:
        """Return a row and its class."""
        vector, label = super().__getitem__(index)
        return vector, int(label)


class Training:
    """The data, the weights and what takes time; both sides draw the same."""

    def __init__(self, rig: worker.Rig) -> None:
        self._rig, self._folder = rig, rig.folder
        self.share = GROUP * rig.integer(6, 9)  # samples of a process in an epoch
        self.samples = WORLD * self.share
        self._tested = 2 * rig.integer(15, 25) + 1  # which two processes cannot divide
        self._took = rig.random.uniform(1.0, 9.0, (WORLD, EPOCHS))
        self._peaks = [round(float(peak), 3) for peak in rig.random.uniform(300.0, 900.0, WORLD)]

    def model(self, rank: int) -> nn.Module:
        """Return the weights that a process starts from; they differ."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self._rig.seed + rank)
            return nn.Sequential(nn.Linear(FEATURES, WIDTH), nn.Tanh(), nn.Linear(WIDTH, CLASSES))

    def data(self) -> tuple[Rows, Rows]:
        return Labelled(self._rig.seed, self.samples), Labelled(self._rig.seed + 1, self._tested)

    @staticmethod
    def _learns(model: nn.Module) -> tuple[nn.Module, torch.optim.Optimizer]:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9)
        return nn.CrossEntropyLoss(label_smoothing=0.2), optimizer

    def alone(self) -> dict[str, Any]:
        """Train in one process, on all samples at once; answer as both processes have to."""
        model, (dataset, test) = self.model(0), self.data()
        criterion, optimizer = self._learns(model)
        for _ in range(EPOCHS):
            optimizer.zero_grad()
            loss = criterion(model(dataset.vectors), dataset.labels)
            loss.backward()
            optimizer.step()
        right = (model(test.vectors).argmax(dim=1) == test.labels).sum()
        values = (self.samples, EPOCHS, right / len(test), loss)
        each = {"wrote": False, "open": False, "half": [], "kept": ["float32"], "taken": EPOCHS}
        orders = [list(range(rank, self.samples, WORLD)) * EPOCHS for rank in range(WORLD)]
        ranks = [{**each, "asked": order, "steps": [], "loaders": []} for order in orders]
        figures = {name: number(it) for name, it in zip(FIGURES, values, strict=True)}
        weights = [flat(dict(model.state_dict()))] * WORLD
        arrays = {"seconds": self._took.max(axis=0), "peak_mb": np.array(self._peaks)}
        return self._answer(ranks, figures, weights, arrays)

    def together(self, program: Program, *options: Any) -> dict[str, Any]:
        """Let both processes run the program, and answer with what they have then and what rank 0 wrote."""
        words = [str(word) for word in ("--samples", self.samples, "--epochs", EPOCHS, *options)]

        def work(rank: int) -> dict[str, Any]:
            return self._ran(program, [*words, "--result", str(self._file(rank))], rank)

        ranks = group_processes.together(WORLD, lambda _: ALONE, work, self._folder, SECONDS)
        weights = [np.array(each.pop("weights")) for each in ranks]
        written = Returned("the process of rank 0", self._written())
        figures = {name: number(written[name]) for name in FIGURES}
        arrays = {name: series(written[name], name) for name in ("seconds", "peak_mb")}
        return self._answer(ranks, figures, weights, arrays)

    def _answer(self, ranks: Any, figures: Any, weights: Any, arrays: Any) -> dict[str, Any]:
        start = flat(dict(self.model(0).state_dict()))
        by_rank = {f"weights{rank}": each for rank, each in enumerate(weights)}
        values = {"samples": self.samples, "names": [], "ranks": ranks, "written": figures}
        return {**values, "gradient_bytes": 4 * len(start), "start": start, **by_rank, **arrays}

    def _file(self, rank: int) -> Any:
        return self._folder / f"result{rank}.json"

    def _written(self) -> Any:
        try:
            return json.loads(self._file(0).read_text(encoding="utf-8"))
        except OSError:
            raise BadReturn("the process of rank 0 wrote no file for --result") from None
        except ValueError:
            raise BadReturn("the file for --result holds no JSON object") from None

    def _ran(self, program: Program, words: list[str], rank: int) -> dict[str, Any]:
        torch.cuda.is_available = lambda: False  # processes of one group cannot share a GPU
        self._rig.clock.freeze()
        model, (dataset, test), half = self.model(rank), self.data(), set[str]()
        passed = [0]

        def passes(_: Any, arguments: Any, output: Any) -> None:
            if not (model.training and torch.is_grad_enabled()):
                return self._rig.clock.advance(TESTING, busy=True)
            half.add(dtype_name(output))
            epoch = min(passed[0] // self.share, EPOCHS - 1)
            passed[0] += len(arguments[0])
            share = len(arguments[0]) / self.share
            return self._rig.clock.advance(self._took[rank, epoch] * share, busy=True)

        model.register_forward_hook(passes)
        stand_ins = {
            "make_training": lambda device: (model.to(device), *self._learns(model)),
            "make_datasets": lambda _: (dataset, test),
            "peak_mb": lambda _: self._peaks[rank],
        }
        with Collectives() as calls, built() as loaders:
            ran = program.run(*words, **stand_ins)
        if ran.status:
            raise BadReturn(f"{ran.program} ended with status {ran.status}")
        return {
            "weights": flat(dict(model.state_dict())).tolist(),
            "asked": dataset.asked[:4096],
            "wrote": self._file(rank).exists(),
            "open": dist.is_initialized(),
            "half": sorted(half),
            "kept": sorted({dtype_name(weight) for weight in model.parameters()}),
            "steps": calls.settled(),
            "taken": len(calls.steps) - 1,
            "loaders": loaders[:16],
        }


class Rig(worker.Rig):
    """The toolkit of this part's probes."""

    def grouped(self) -> Training:
        """Return a training for two processes."""
        return Training(self)
