"""What the probes of part 3 work with: a training whose gradients are sent in buckets, and a hook for DDP."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from functools import wraps
from types import ModuleType
from typing import Any
from unittest import mock

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from autograder.worker import rig as worker
from autograder.worker.rigs import group_processes
from autograder.worker.rigs.collectives import MOST, Collectives
from autograder.worker.rigs.late_collectives import Late
from autograder.worker.rigs.returned import BadReturn, flat

WORLD, ROWS, FEATURES, CLASSES = 2, 5, 6, 4
SECONDS = 30.0  # in all, on a machine where much else runs
BUCKET_BYTES, EXACT_BYTES = 500, 416
FIGURES = ("weights", "first", "begun")
Uses = Sequence[Sequence[bool]]
"""Step by step, which processes run the side branch."""


class Reducing:
    """One training of `given.Branches`: each process has weights and batches of its own."""

    def __init__(self, rig: worker.Rig, uses: Uses, *, exact: bool) -> None:
        """Draw the batches. An *exact* training is in float64, and fills a bucket to the last byte.

        There bucket 4 is full before bucket 3, so both may leave at the same time.
        """
        self._exact = exact
        self._dtype = torch.float64 if exact else torch.float32
        self._most = EXACT_BYTES if exact else BUCKET_BYTES
        self._seed, self._folder, self._make = rig.seed, rig.folder, rig.given("Branches")
        self._uses = uses
        self._world = len(uses[0])
        shape = (self._world, len(uses), ROWS)
        self._inputs = _drawn(rig, (*shape, FEATURES)).to(self._dtype)
        self._targets = _drawn(rig, (*shape, CLASSES)).to(self._dtype)

    def alone(self) -> dict[str, Any]:
        """Train in one process on the batches of all, as asked; and with the side branch everywhere."""
        own = self._alone(self._uses)
        used = self._alone([[True] * self._world for _ in self._uses])["weights"]
        return _answer(FIGURES, [own] * WORLD, start=self._start(), used=used)

    def _alone(self, uses: Uses) -> dict[str, Any]:
        """Train from the weights of rank 0."""
        net = self._net(0)
        own: dict[str, Any] = {"begun": _all(net), "steps": [], "events": []}
        optimizer = _optimizer(net)
        for step in range(len(self._uses)):
            optimizer.zero_grad()
            losses = [self._loss(net, rank, step, uses) for rank in range(self._world)]
            torch.stack(losses).mean().backward()
            optimizer.step()
            own.setdefault("first", _weights(net))
        return {**own, "weights": _weights(net)}

    def together(self, student: ModuleType, *, late: bool = False) -> dict[str, Any]:
        """Let each process train; results of collective calls may come *late*, when they are waited for."""

        def work(rank: int) -> dict[str, Any]:
            dist.init_process_group("gloo")
            return self._trained(student, rank, late=late)

        ranks = _forked(self._world, work, self._folder)[:WORLD]
        return _answer(FIGURES, ranks, start=self._start(), used=self._start())

    def _start(self) -> Any:
        return _weights(self._net(0))

    def _trained(self, student: ModuleType, rank: int, *, late: bool) -> dict[str, Any]:
        net, events = self._net(rank), list[list[str]]()

        def note(event: str) -> None:
            events[-1].append(event)

        filling = Filling(net, self._most, note)
        with mock.patch.object(dist, "Reducer", _refused):
            model = student.BucketedDDP(net, self._most)
        figures = {"begun": _all(net)}
        optimizer = _optimizer(net)
        with Collectives() as collectives, Late(note) if late else nullcontext():
            for step in range(len(self._uses)):
                events.append([])
                filling.begin()
                optimizer.zero_grad()
                self._loss(model, rank, step, self._uses).backward()
                model.finish()
                optimizer.step()
                figures.setdefault("first", _weights(net))
        figures["weights"] = _weights(net)
        return {
            **{name: it.tolist() for name, it in figures.items()},
            "steps": [_calls(step) for step in collectives.steps[: len(self._uses)]],
            "events": [own[:MOST] for own in events],
        }

    def _net(self, rank: int) -> nn.Module:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self._seed + rank)
            net: nn.Module = self._make()
            net.register_buffer("unsaved", torch.rand(3), persistent=False)
        if self._exact:
            for name in ("second", "last"):  # side comes before them, and not after second
                setattr(net, name, net._modules.pop(name))
        return net.to(self._dtype)

    def _loss(self, model: Any, rank: int, step: int, uses: Uses) -> Tensor:
        outputs = model(self._inputs[rank, step], side=uses[step][rank])
        return nn.functional.mse_loss(outputs, self._targets[rank, step])


class Filling:
    """Notes each gradient that is there, and when it fills the bucket whose turn it is."""

    def __init__(self, net: nn.Module, most: int, note: Callable[[str], None]) -> None:
        self._buckets, self._note = _buckets(net, most), note
        self._there = set[Tensor]()
        self._filled = 0
        for parameter in (each for bucket in self._buckets for each in bucket):
            parameter.register_post_accumulate_grad_hook(self._came)

    def begin(self) -> None:
        """Begin a step."""
        self._there, self._filled = set(), 0

    def _came(self, parameter: Tensor) -> None:
        self._note("gradient")
        self._there.add(parameter)
        for bucket in self._buckets[self._filled :]:
            if not bucket <= self._there:
                break
            self._note("full")
            self._filled += 1


def _buckets(net: nn.Module, most: int) -> list[set[Tensor]]:
    """Return the buckets of the handout."""
    made, size = list[set[Tensor]](), most
    for weight in reversed(list(net.parameters())):
        if weight.requires_grad:
            size += weight.nbytes
            if size > most or not made:
                made.append(set())
                size = weight.nbytes
            made[-1].add(weight)
    return made


def _optimizer(net: nn.Module) -> torch.optim.Optimizer:
    trained = [parameter for parameter in net.parameters() if parameter.requires_grad]
    return torch.optim.SGD(trained, lr=0.1, momentum=0.9)


def _weights(net: nn.Module) -> Any:
    return flat(dict(net.named_parameters()))


def _all(net: nn.Module) -> Any:
    """Return parameters and buffers, also those that a state_dict leaves out."""
    return flat({**dict(net.named_parameters()), **dict(net.named_buffers())})


def _drawn(rig: worker.Rig, shape: Sequence[int]) -> Tensor:
    return torch.from_numpy(rig.random.normal(size=shape)).float()


def _refused(*_: Any, **__: Any) -> Any:
    message = "BucketedDDP uses DistributedDataParallel; reduce the gradients yourself"
    raise BadReturn(message, "ruled out")


def _calls(step: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"kind": call["kind"], "bytes": call["bytes"]} for call in step[:MOST]]


def _forked(world: int, work: Callable[[int], dict[str, Any]], folder: Any) -> list[dict[str, Any]]:
    return group_processes.together(world, lambda rank: {"LOCAL_RANK": rank}, work, folder, SECONDS)


def _answer(figures: Iterable[str], ranks: Sequence[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """Return what each rank saw, and its *figures* as arrays."""
    seen = [{name: own[name] for name in ("steps", "events")} for own in ranks]
    names = [(name, rank) for rank in range(WORLD) for name in figures]
    arrays = {f"{name}{rank}": np.array(ranks[rank][name]) for name, rank in names}
    return {**more, "ranks": seen, **arrays}


# --- a hook for DistributedDataParallel ---

SHAPES = ((40, 30), (900,), (30, 20), (300,))  # of parameters: 12,000 bytes
CAP_MB = 0.005
ORDINARY, LARGE, TINY = (0.5, 2.0), (35_000.0, 40_000.0), (1e-9, 2e-9)
RANGES = {
    "float16": (ORDINARY, ORDINARY, ORDINARY, LARGE),
    "bfloat16": (ORDINARY, ORDINARY, TINY, LARGE),
}
"""By dtype, the size of the gradients in each step. DDP makes its final buckets after the first."""


class Sum(nn.Module):
    """A network whose gradients are what it is called with."""

    def __init__(self) -> None:
        super().__init__()
        self.weights = nn.ParameterList(torch.ones(shape) for shape in SHAPES)

    def forward(self, gradients: Sequence[Tensor]) -> Tensor:
        """Add up weights times gradients."""
        pairs = zip(self.weights, gradients, strict=True)
        return torch.stack([(weight * gradient).sum() for weight, gradient in pairs]).sum()


class Compressing:
    """Gradients of four steps, for each dtype: of one sign in both processes, so that nothing cancels."""

    def __init__(self, rig: worker.Rig) -> None:
        self._folder = rig.folder
        self._drawn = {
            dtype: [self._step(rig, *sizes) for sizes in ranges] for dtype, ranges in RANGES.items()
        }

    @staticmethod
    def _step(rig: worker.Rig, low: float, high: float) -> list[list[Any]]:
        signs = [rig.random.choice([-1.0, 1.0], shape) for shape in SHAPES]
        return [
            [sign * rig.random.uniform(low, high, sign.shape).astype("float32") for sign in signs]
            for _ in range(WORLD)
        ]

    def alone(self) -> dict[str, Any]:
        """Return the means, in float64."""
        own: dict[str, Any] = {"steps": [], "events": []}
        for dtype, steps in self._drawn.items():
            means = [np.mean(pair, axis=0) for step in steps for pair in zip(*step, strict=True)]
            own[dtype] = np.concatenate([mean.ravel() for mean in means])
        return _answer(RANGES, [own] * WORLD)

    def together(self, student: ModuleType) -> dict[str, Any]:
        """Let DDP average with the student's hook."""

        def work(rank: int) -> dict[str, Any]:
            dist.init_process_group("gloo")
            own: dict[str, Any] = {"steps": [], "events": []}
            for dtype in RANGES:
                own[dtype] = self._averaged(student, rank, dtype, own)
            return own

        return _answer(RANGES, _forked(WORLD, work, self._folder))

    def _averaged(
        self, student: ModuleType, rank: int, dtype: str, seen: dict[str, Any]
    ) -> list[float]:
        """Return all means; what is *seen* counts from the third step on, when buckets are final."""
        events, gradients = list[str](), list[float]()
        model = DistributedDataParallel(Sum(), bucket_cap_mb=CAP_MB)
        hook = student.compressing(getattr(torch, dtype))
        model.register_comm_hook(None, _noted(hook, events.append))
        for number, step in enumerate(self._drawn[dtype]):
            events.clear()
            model.zero_grad()
            with Collectives() as collectives, Late(events.append):
                model([torch.from_numpy(each).float() for each in step[rank]]).backward()
            if number > 1:
                seen["steps"].append(_calls(collectives.calls))
                seen["events"].append(events[:MOST])
            gradients += flat([it.grad for it in model.parameters()]).tolist()
        return gradients


def _noted(hook: Any, note: Callable[[str], None]) -> Any:
    """Return the hook with its beginning and its end noted; without a name it is none for DDP."""
    name = hook.__name__

    @wraps(hook)
    def noted(state: Any, bucket: Any) -> Any:
        note("hook")
        returned = hook(state, bucket)
        note("hook ends")
        return returned

    noted.__name__ = name
    return noted


class Rig(worker.Rig):
    """The toolkit of this part's probes."""

    def reduced(
        self, student: ModuleType, uses: Uses, *, exact: bool = False, late: bool = False
    ) -> dict[str, Any]:
        """Train in processes, or in one where that is what is expected."""
        training = Reducing(self, uses, exact=exact)
        return training.together(student, late=late) if self.side == "student" else training.alone()

    def averaged(self, student: ModuleType) -> dict[str, Any]:
        """Average gradients by the hook, or exactly."""
        steps = Compressing(self)
        return steps.together(student) if self.side == "student" else steps.alone()
