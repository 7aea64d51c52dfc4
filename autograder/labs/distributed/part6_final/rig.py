"""What the probes of part 6 work with: one training, by a program in two processes and by trusted code in one."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import partial, wraps
from types import MappingProxyType
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.algorithms.join import Join
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

from autograder.worker import rig as worker
from autograder.worker.rigs import group_processes
from autograder.worker.rigs.collectives import Collectives
from autograder.worker.rigs.programs import Program
from autograder.worker.rigs.ranks import ALONE, WORLD, Rows, network, raising
from autograder.worker.rigs.returned import BadReturn, Returned, dtype_name, flat, number, series

EPOCHS = 3  # of one step each, so that order does not matter
GROUP, WORKERS = 4, 2  # batches of a step, and processes that load, where options ask for them
FULL = "float32"
WIDTH = 64
TELLS = 0.01  # relative: two mistakes that are nearer are not told apart
SECONDS = 30.0  # in all, on a machine where much else runs
TESTING = 50.0  # seconds that a pass over test samples takes
FIGURES = ("samples", "steps", "accuracy", "loss")
AFTER_AN_ERROR = "process group of a run that fails"


@contextmanager
def built() -> Iterator[list[tuple[int, bool, bool]]]:
    """Note of each loader its workers, whether it pins memory, and whether it starts workers again in each epoch.

    They load in their own process: workers would take a second to start.
    """
    made: list[tuple[int, bool, bool]] = []
    begin = DataLoader.__init__

    @wraps(begin)
    def init(loader: DataLoader[Any], *args: Any, **kwargs: Any) -> None:
        begin(loader, *args, **kwargs)
        workers = loader.num_workers
        made.append((workers, loader.pin_memory, workers > 0 and not loader.persistent_workers))
        loader.num_workers = 0

    with patch.object(DataLoader, "__init__", init):
        yield made


def facts(
    rank: int,
    computed: Sequence[str],
    steps: tuple[int, int, int, int],
    loaders: Sequence[tuple[int, bool, bool]],
    *ends: str,
) -> dict[str, Any]:
    """Name what a process did: what options decide, and how its file and its group *end*.

    *computed* are the dtypes of outputs, losses and parameters.
    *steps* are those of the optimizer and of the profile, and batches after it, of training and of the test.
    """
    workers, pinned, again = map(max, zip((0, False, False), *loaders, strict=True))
    file, group = ends
    words = ("outputs of the model are", "the criterion returns", "parameters are")
    return {
        **{f"rank {rank}: {it}": own for it, own in zip(words, computed, strict=True)},
        f"rank {rank}: steps taken": steps[0],
        f"rank {rank}: calls of on_step() for the profile": steps[1],
        f"rank {rank}: batches trained after the profile": steps[2],
        f"rank {rank}: batches tested after the profile": steps[3],
        f"rank {rank}: num_workers of its loaders": workers,
        f"rank {rank}: pin_memory of its loaders": str(pinned),
        f"rank {rank}: workers start again in each epoch": str(again),
        f"result file of rank {rank}": file,
        f"process group of rank {rank}": group,
    }


@contextmanager
def uncounted(calls: Collectives) -> Iterator[None]:
    """Leave out the calls by which Join asks in each batch who is still there: nobody has to do without it."""

    def quiet(own: Any) -> Any:
        @wraps(own)
        def call(*args: Any, **kwargs: Any) -> Any:
            before = len(calls.steps[-1])
            result = own(*args, **kwargs)
            del calls.steps[-1][before:]
            return result

        return call

    asks = "_check_global_requires_backward_grad_sync"
    ddp, notify = DistributedDataParallel, quiet(Join.notify_join_context)
    with (
        patch.object(Join, "notify_join_context", notify),
        patch.object(ddp, asks, quiet(getattr(ddp, asks))),
    ):
        yield


def _group() -> str:
    return "still there" if dist.is_initialized() else "destroyed"


class Labelled(Rows):
    """Rows whose classes are numbers, as those of the data that the lab gives."""

    def __getitem__(self, index: int) -> tuple[Tensor, Any]:
        """Return a row and its class."""
        vector, label = super().__getitem__(index)
        return vector, int(label)


class Training:
    """The data, the weights and what takes time; both sides draw the same. An option is a word of *options*."""

    def __init__(self, rig: worker.Rig, options: str) -> None:
        self._rig, self._folder, self._options = rig, rig.folder, options
        self._group = GROUP if "--accumulate" in options else 1
        self._half = "--amp" in options
        self._extra = int("--profile" in options)  # epochs that count in no figure
        self.share = GROUP * rig.integer(6, 9)  # samples of a process in an epoch
        self.samples = WORLD * self.share
        self._tested = 2 * rig.integer(15, 25) + 1  # which two processes cannot divide
        self._took = rig.random.uniform(1.0, 9.0, (WORLD, EPOCHS))
        self._peaks = [round(float(peak), 3) for peak in rig.random.uniform(300.0, 900.0, WORLD)]

    def model(self, rank: int) -> nn.Module:
        """Return the weights that a process starts from; they differ."""
        return network(self._rig.seed + rank, WIDTH)

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
        losses = list[float]()

        def epochs(count: int) -> Tensor | None:
            loss = None
            for _ in range(count):
                optimizer.zero_grad()
                loss = criterion(model(dataset.vectors), dataset.labels)
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
            return loss

        loss = epochs(EPOCHS)
        hits = model(test.vectors).argmax(dim=1) == test.labels
        right = hits.sum()
        epochs(self._extra)
        half = "bfloat16" if self._half else "float32"
        loaders = [(WORKERS, False, False)] * ("--workers" in self._options)
        steps = EPOCHS + self._extra, self._extra, 0, 0
        own = {"weights": flat(dict(model.state_dict())), "steps": []}
        ranks: list[dict[str, Any]] = [
            {
                **own,
                "asked": [*range(rank, self.samples, WORLD)] * EPOCHS,
                "facts": facts(rank, (half, FULL, FULL), steps, loaders, file, "destroyed"),
                "loss": [],
            }
            for rank, file in enumerate(("written", "none"))
        ]
        if not self._options:
            ranks[0]["facts"][AFTER_AN_ERROR] = "destroyed"
        figures = {"samples": self.samples, "steps": EPOCHS, "accuracy": right / len(test)}
        times = {"seconds": self._took.max(axis=0), "peak_mb": self._peaks}
        slips = {
            "samples": {"your samples are those of one process": self.share},
            "steps": {
                "your steps are those of one epoch": 1,
                "your steps are batches": self._group * EPOCHS,
                "your processes take the steps of the whole set, and not of a share": WORLD
                * EPOCHS,
            },
            "accuracy": _accuracies(hits),
            "loss": {
                "your loss is the mean of all epochs, not that of the last": sum(losses[:EPOCHS])
                / EPOCHS,
                "your loss is that of the first epoch, not of the last": losses[0],
                "your loss is that of the profiled epoch, which must not count": losses[-1],
            },
        }
        for at, each in enumerate(self._took.T):
            slips[f"seconds[{at}]"] = {
                "your seconds are the mean of the processes, not those of the slowest": each.mean(),
                "your seconds are those of the faster process, not of the slowest": each.min(),
                "testing is among your seconds": each.max() + TESTING,
                "your seconds are those of the whole set in a process": WORLD * each.max(),
            }
        return self._answer(ranks, {**figures, "loss": loss, **times}, slips)

    def together(self, program: Program) -> dict[str, Any]:
        """Let both processes run the program, and answer with what they have then and what rank 0 wrote."""
        sizes = f"--samples {self.samples} --epochs {EPOCHS}"
        batch = f"--batch-size {self.share // self._group}"
        words = f"{sizes} {batch} {self._options}".split()

        def work(rank: int) -> dict[str, Any]:
            return self._ran(program, [*words, "--result", str(self._file(rank))], rank)

        ranks = group_processes.together(WORLD, lambda _: ALONE, work, self._folder, SECONDS)
        if not self._options:
            fails = partial(self._failed, program, words)
            (alone,) = group_processes.together(1, lambda _: ALONE, fails, self._folder, SECONDS)
            ranks[0]["facts"][AFTER_AN_ERROR] = alone["group"]
        return self._answer(ranks, Returned("the process of rank 0", self._written()))

    def _failed(self, program: Program, words: list[str], _: int) -> dict[str, Any]:
        """Run the program in one process, with a criterion that raises, and say what is left of the group."""

        def make(device: Any) -> tuple[Any, ...]:
            model = self.model(0).to(device)
            return model, raising, self._learns(model)[1]

        with suppress(Exception):
            program.run(*words, make_training=make, make_datasets=lambda _: self.data())
        return {"group": _group()}

    def _answer(
        self, ranks: Any, figures: Any, slips: Any = MappingProxyType({})
    ) -> dict[str, Any]:
        answers, arrays = self._rig.answers(), {}
        for rank, own in enumerate(ranks):
            arrays[f"start{rank or ''}"] = flat(dict(self.model(rank).state_dict()))
            arrays[f"weights{rank}"] = np.array(own.pop("weights"))
            for name, fact in own.pop("facts").items():
                answers.add(name, fact)
        for name in FIGURES:
            answers.add(name, number(figures[name]))
        for name in ("seconds", "peak_mb"):
            values = series(figures[name], name).tolist()
            answers.add(f"length of {name}", len(values))
            for at, value in enumerate(values):
                answers.add(f"{name}[{at}]", value)
        sizes = {"samples": self.samples, "epochs": EPOCHS + self._extra}
        usual = {name: {why: float(it) for why, it in own.items()} for name, own in slips.items()}
        return {**answers.values(), **sizes, "slips": usual, "ranks": ranks, **arrays}

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
        self._rig.clock.freeze()
        model, (dataset, test) = self.model(rank), self.data()
        half, losses, own = set[str](), set[str](), list[tuple[float, int]]()
        passed, profiled, trained, tested = [0], [0], [0], [0]

        def passes(_: Any, arguments: Any, output: Any) -> None:
            trains = model.training and torch.is_grad_enabled()
            if trains or not self._half:  # whoever tests in 16 bits as well does no harm with --amp
                name = dtype_name(output)
                half.add(name if trains or name == "float32" else f"{name} in the test")
            if not trains:
                tested[0] += profiled[0]
                return self._rig.clock.advance(TESTING, busy=True)
            trained[0] += profiled[0] > 0
            epoch = min(passed[0] // self.share, EPOCHS - 1)
            passed[0] += len(arguments[0])
            share = len(arguments[0]) / self.share
            return self._rig.clock.advance(self._took[rank, epoch] * share, busy=True)

        def note(_: Any, arguments: Any, loss: Tensor) -> None:
            losses.add(dtype_name(loss))
            if loss.requires_grad and loss.numel() == 1 and arguments:
                own.append((float(loss), len(arguments[-1])))

        def count() -> None:
            profiled[0] += 1

        def make(device: Any) -> tuple[Any, ...]:
            criterion, optimizer = self._learns(model.to(device))
            criterion.register_forward_hook(note)
            return model, criterion, optimizer

        model.register_forward_hook(passes)
        stand_ins = {
            "profiled": lambda _: nullcontext(count),
            "make_training": make,
            "make_datasets": lambda _: (dataset, test),
            "peak_mb": lambda _: self._peaks[rank],
        }
        with Collectives() as calls, uncounted(calls), built() as loaders:
            ran = program.run(*words, **stand_ins)
        if ran.status:
            raise BadReturn(f"{ran.program} ended with status {ran.status}")
        kept = {dtype_name(weight) for weight in model.parameters()}
        computed = [", ".join(sorted(it)) or "nothing" for it in (half, losses, kept)]
        steps = len(calls.steps) - 1, profiled[0], trained[0], tested[0]
        file = "written" if self._file(rank).exists() else "none"
        group = _group()
        return {
            "weights": flat(dict(model.state_dict())).tolist(),
            "asked": dataset.asked[:4096],
            "steps": calls.settled(),
            "facts": facts(rank, computed, steps, loaders, file, group),
            "loss": _own_losses(own[: EPOCHS * self._group][-self._group :]),
        }


def _accuracies(hits: Tensor) -> dict[str, float]:
    """Return what usual mistakes make of an accuracy, if no two of them make the same."""
    shares = [float(hits[rank::WORLD].double().mean()) for rank in range(WORLD)]
    padded = float(hits.sum() + hits[0]) / (len(hits) + 1)
    made = {
        "your accuracy is that of one process's share": shares[0],
        "your accuracy is the mean of the processes' accuracies, and their shares have different sizes": sum(
            shares
        )
        / WORLD,
        "a sample counts twice: DistributedSampler makes the shares equal": padded,
    }
    near = [[it for it in made.values() if abs(it - own) <= TELLS * own] for own in made.values()]
    return {why: it for (why, it), alike in zip(made.items(), near, strict=True) if len(alike) == 1}


def _own_losses(losses: Sequence[tuple[float, int]]) -> list[float]:
    """Return the mean loss of the samples of an epoch in one process, and the loss of its last batch."""
    if not losses:
        return []
    samples = sum(count for _, count in losses)
    mean = sum(loss * count for loss, count in losses) / max(1, samples)
    return [it for it in (mean, losses[-1][0]) if math.isfinite(it)]


class Rig(worker.Rig):
    """The toolkit of this part's probes."""

    def grouped(self, options: str) -> Training:
        """Return a training for two processes."""
        return Training(self, options)
