"""What the probes of part 4 work with: epochs and accuracies of a group and of one process, and loaders."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from autograder.labs.distributed.part4_steps.mistakes import SLIPS
from autograder.worker import rig as worker
from autograder.worker.rigs import call_order, group_processes
from autograder.worker.rigs.collectives import Collectives
from autograder.worker.rigs.ranks import ALONE, CLASSES, FEATURES, WORLD, network
from autograder.worker.rigs.recorders import Dtypes
from autograder.worker.rigs.returned import BadReturn, Returned, flat, number

HIDDEN = 16
RATE, MOMENTUM = 0.1, 0.9
STEADY = 2000  # steps before a scale grows
SECONDS = 30.0  # for all processes of a group, on a machine where much else runs
FIGURES = ("loss", "steps", "skipped")
SENT = "exchanges of gradients for each step"
SHARED = ("all_reduce", "all_gather", "reduce_scatter", "reduce", "gather")
RETURN_ONE, RETURN = "ranks return, of which one is right", "ranks return"
CPU = torch.device("cpu")
ALIKE = "your loss is the mean of the batches' losses, and the batches have different sizes"
OWN = "your loss is that of this rank alone"
DIVIDED = "your loss is divided by accumulation as well"


@dataclass(frozen=True)
class Plan:
    """A training of one epoch: the samples of each process, their batches, and how steps are made of them."""

    samples: int
    batch: int
    accumulation: int = 1
    amp: str = ""
    scale: float = 0.0
    clip: float | None = None
    smaller: float = 1.0
    """Times the loss; the rate is as many times larger."""
    overflows: int = -1
    """The batch of the last rank that no dtype can hold."""

    @property
    def groups(self) -> range:
        """Return where groups begin."""
        return range(0, self.samples, self.batch * self.accumulation)


class Criterion(nn.Module):
    """Smoothed, so that another criterion shows."""

    def __init__(self, smaller: float) -> None:
        super().__init__()
        self._loss, self._smaller = nn.CrossEntropyLoss(label_smoothing=0.2), smaller

    def forward(self, outputs: Tensor, labels: Tensor) -> Tensor:
        loss: Tensor = self._smaller * self._loss(outputs, labels)
        return loss


class Halved(nn.Module):
    """Halves what it is given in eval mode, so that the mode shows."""

    def forward(self, inputs: Tensor) -> Tensor:
        return inputs if self.training else inputs / 2


class Training:
    """A plan with its data: sample i of a rank is row i * WORLD + rank."""

    def __init__(self, rig: worker.Rig, plan: Plan) -> None:
        rows = plan.samples * WORLD
        self.plan, self._seed = plan, rig.seed
        self.inputs = torch.from_numpy(rig.random.normal(size=(rows, FEATURES))).float()
        self.labels = torch.from_numpy(rig.random.integers(0, CLASSES, rows))
        self.criterion = Criterion(plan.smaller)

    def model(self, rank: int = 0) -> nn.Module:
        """Return the weights that a process starts from."""
        return network(self._seed + rank, HIDDEN, nn.Sequential(Halved()))

    def optimizer(self, model: nn.Module) -> torch.optim.Optimizer:
        """Return one that remembers: a step too many is seen."""
        rate = RATE / self.plan.smaller
        return torch.optim.SGD(model.parameters(), lr=rate, momentum=MOMENTUM)

    def alone(self, slip: str = "") -> dict[str, Any]:
        """Train in float32 on the batches of all, without a group that overflows; or make this *slip*."""
        plan, model = self.plan, self.model().train(slip != "eval")
        optimizer, losses = self.optimizer(model), []
        alike, own = [], []
        for start in plan.groups:
            if start <= plan.overflows * plan.batch < start + plan.groups.step:
                continue
            if slip == "left out" and start + plan.groups.step > plan.samples:
                continue
            rows = slice(start * WORLD, (start + plan.groups.step) * WORLD)
            if slip != "kept":
                optimizer.zero_grad()
            inputs, labels = self.inputs[rows], self.labels[rows]
            loss = self.criterion(model(inputs), labels)
            batches = zip(*(it.split(plan.batch * WORLD) for it in (inputs, labels)), strict=True)
            means = torch.stack([self.criterion(model(each), right) for each, right in batches])
            alike += means.tolist()
            ranks = ((inputs[rank::WORLD], labels[rank::WORLD]) for rank in range(WORLD))
            own.append([len(it[1]) * self.criterion(model(it[0]), it[1]).item() for it in ranks])
            by = {"sum": 1, "accumulation": plan.accumulation, "batches": len(means)}
            (means.sum() / by[slip] if slip in by else loss).backward()
            _clip(list(model.parameters()), plan.clip, slip)
            optimizer.step()
            losses.append(loss.item() * len(self.labels[rows]))
        steps = len(losses)
        figures = sum(losses) / len(self.labels), steps, len(plan.groups) - steps
        weights = flat(dict(model.state_dict())).tolist()
        losses_of = [sum(each) / plan.samples for each in zip(*own, strict=True)]
        mistakes = {ALIKE: sum(alike) / max(1, len(alike)), DIVIDED: figures[0] / plan.accumulation}
        slips = [{**mistakes, OWN: it} for it in losses_of]
        own_figures = dict(zip(FIGURES, figures, strict=True))
        return {**own_figures, SENT: 1, "weights": weights, "slips": slips}

    def together(self, train: Callable[..., Any], rank: int) -> dict[str, Any]:
        """Train in the process of a rank; say what it has then, and what was sent and computed."""
        plan, data = self.plan, TensorDataset(self._inputs(rank), self.labels)
        sampler: Any = DistributedSampler(data, WORLD, rank, shuffle=False)
        model = DistributedDataParallel(self.model(rank)).eval()
        # Where a step overflows, the scale grows after each other one: another scale is no overflow.
        often = 1 if plan.overflows >= 0 else STEADY
        scaler = torch.amp.GradScaler("cpu", init_scale=plan.scale, growth_interval=often)
        options = {
            "accumulation": plan.accumulation,
            "amp": getattr(torch, plan.amp) if plan.amp else None,
            "scaler": scaler if plan.scale else None,
            "clip": plan.clip,
        }
        wrapped, outside = list[bool](), list[bool]()
        model.register_forward_pre_hook(lambda *_: wrapped.append(model.require_backward_grad_sync))
        next(model.module.parameters()).register_post_accumulate_grad_hook(
            lambda _: outside.append(
                wrapped[-1:] == [True] and not model.require_backward_grad_sync
            )
        )
        loader = DataLoader(data, plan.batch, sampler=sampler)
        arguments = (model, loader, self.criterion, self.optimizer(model), CPU)
        with Collectives() as sent, Dtypes(model.module, self.criterion) as dtypes:
            returned = Returned("train_epoch", train(*arguments, **options))
        call_order.returns("train_epoch")
        sizes = sum(call["bytes"] for call in sent.calls if call["kind"] in SHARED)
        gradients = sum(it.nbytes for it in model.parameters())
        # Small calls, such as for the loss, are hardly any.
        exchanges = round(sizes / gradients / len(plan.groups))
        return {
            **{name: number(returned[name]) for name in FIGURES},
            SENT: exchanges,
            "dtypes": dtypes.values(),
            "past": not wrapped,
            "outside": any(outside),
            "weights": flat(dict(model.module.state_dict())).tolist(),
        }

    def _inputs(self, rank: int) -> Tensor:
        """Return what a rank is given: rows of others are none, and a batch may be too large."""
        inputs = torch.full_like(self.inputs, torch.nan)
        inputs[rank::WORLD] = self.inputs[rank::WORLD]
        if self.plan.overflows >= 0 and rank == WORLD - 1:
            inputs[rank::WORLD].split(self.plan.batch)[self.plan.overflows].mul_(torch.inf)
        return inputs


def _clip(parameters: list[Any], most: float | None, slip: str) -> None:
    """Bound the norm of all gradients, or what this *slip* bounds."""
    if most is None or slip == "unclipped":
        return
    if slip == "each number":
        nn.utils.clip_grad_value_(parameters, most)
    for group in [[it] for it in parameters] if slip == "each parameter" else [parameters]:
        nn.utils.clip_grad_norm_(group, most if slip != "each number" else math.inf)


class Rig(worker.Rig):
    """The toolkit of this part's probes. A case without the student's function is one process's, which is right."""

    def grouped(self, plans: Mapping[str, Mapping[str, Any]], student: Any) -> dict[str, Any]:
        """Train each plan in a group."""
        train: Any = student.train_epoch if self.side == "student" else None
        trainings = {case: Training(self, Plan(**plan)) for case, plan in plans.items()}

        def work(rank: int) -> dict[str, Any]:
            return {case: it.together(train, rank) for case, it in trainings.items()}

        right = [{case: it.alone() for case, it in trainings.items()}] * WORLD
        ranks = self._group(WORLD, work) if train else right
        answers, arrays = self.answers(), dict[str, Any]()
        slips = dict[str, Any]()
        for case, it in trainings.items():
            start = arrays[f"{case}: start"] = flat(dict(it.model().state_dict()))
            mistaken = [] if train else [it.alone(slip)["weights"] for slip in SLIPS]
            arrays[f"{case}: slips"] = np.concatenate([*mistaken, start[:0]])
            for rank, usual in enumerate([] if train else ranks[0][case]["slips"]):
                slips[f"{case}, rank {rank}: loss"] = usual
            for rank, own in enumerate(ranks):
                arrays[f"{case}: weights{rank}"] = np.array(own[case]["weights"])
                for name in (*FIGURES, SENT):
                    answers.add(f"{case}, rank {rank}: {name}", own[case][name])
        dtypes = {case: [own[case]["dtypes"] for own in ranks] for case in trainings if train}
        seen = {
            name: [case for case in trainings if train and any(own[case][name] for own in ranks)]
            for name in ("past", "outside")
        }
        return {**answers.values(), "dtypes": dtypes, **seen, "slips": slips, **arrays}

    def evaluated(
        self, cases: Mapping[str, tuple[int, int, int, bool]], student: Any
    ) -> dict[str, Any]:
        """Evaluate each case: processes, samples, batch, and whether the model comes in training mode."""
        evaluate: Any = student.evaluate if self.side == "student" else None
        answers, slips = self.answers(), dict[str, dict[str, float]]()
        norm = nn.BatchNorm1d(HIDDEN)
        last = nn.Dropout(0.8), nn.Linear(HIDDEN, CLASSES)
        model = nn.Sequential(nn.Linear(FEATURES, HIDDEN), norm, *last).eval()
        for case, (world, samples, batch, training) in cases.items():
            inputs = torch.from_numpy(self.random.normal(size=(samples, FEATURES))).float()
            wrong = torch.from_numpy(self.random.random(samples) < 0.4)
            wrong[0] = samples > 1
            data = TensorDataset(inputs, (model(inputs).argmax(1) + wrong) % CLASSES)

            def work(
                _: int, data: Any = data, batch: int = batch, training: bool = training
            ) -> Any:
                parallel, rows = DistributedDataParallel(model).train(training), list[float]()
                modes = set[bool]()

                def watch(_: Any, of: Any) -> None:
                    rows.extend(of[0][:, 0].tolist())  # the first number of a row is its own
                    modes.add(norm.training)

                model[0].register_forward_pre_hook(watch)
                accuracy = number(evaluate(parallel, data, batch, CPU))
                own = {"accuracy": accuracy, "training": parallel.training, "rows": rows}
                return {**own, "trains": True in modes}

            accuracy = 1 - wrong.double().mean().item()
            right: dict[str, Any] = {"accuracy": accuracy, "training": training, "rows": []}
            right["trains"] = False
            ranks = self._group(world, work) if evaluate else [right] * world
            accuracies = [own["accuracy"] for own in ranks]
            are_right = [abs(it - right["accuracy"]) < 1e-4 for it in accuracies]
            is_right = all(are_right)
            rows = [row for own in ranks for row in own["rows"]]
            most = samples + world * is_right  # a rank may pad its share, and not count that
            different = len(set(rows))
            is_divided = is_right or different == len(rows)
            missing = 0 if is_divided else samples - different
            repeated = different < len(rows)
            answers.add(f"{case}: evaluated by no rank, and others twice", missing * repeated)
            answers.add(f"{case}: evaluated by no rank", missing * (not repeated))
            answers.add(f"{case}: evaluated in all", len(rows) if len(rows) > most else samples)
            trains = not is_right and any(own["trains"] for own in ranks)
            answers.add(f"{case}: mode in evaluate", "training" if trains else "eval")
            apart = " and ".join(dict.fromkeys(f"{it:.6g}" for it in accuracies))
            alike = is_right or " " not in apart
            for name, is_it in ((RETURN_ONE, any(are_right)), (RETURN, not any(are_right))):
                answers.add(
                    f"{case}: {name}", apart if is_it and not alike else "the same accuracy"
                )
            usual = {} if evaluate else _accuracies(~wrong, world, batch)
            for rank, own in enumerate(ranks):
                slips[f"{case}, rank {rank}: accuracy"] = usual
                answers.add(f"{case}, rank {rank}: accuracy", own["accuracy"])
                mode = "training" if own["training"] else "eval"
                answers.add(f"{case}, rank {rank}: mode afterwards", mode)
        return {**answers.values(), "slips": slips}

    def _group(self, world: int, work: Callable[[int], dict[str, Any]]) -> list[dict[str, Any]]:
        """Let each rank, alone on its machine, do its work in a process group that is there."""

        def begin(rank: int) -> dict[str, Any]:
            dist.init_process_group("gloo")
            return work(rank)

        return group_processes.together(world, lambda _: ALONE, begin, self.folder, SECONDS)

    def shares(self, make: Callable[..., Any], world: int, workers: int) -> dict[str, Any]:
        """Let each rank go through two epochs, and rank 0 also with another seed; say what they read."""
        samples, seed = world * self.integer(5, 8) + 1, self.integer(1, 1000)
        data = TensorDataset(torch.arange(samples))
        read, sizes = list[list[int]](), list[int]()
        for rank in (*range(world), 0):
            own = seed + (len(read) == world)
            made = both(make(data, 4, rank, world, workers=workers, seed=own))
            read.append([])
            for epoch in (0, 1):
                made[1].set_epoch(epoch)
                for (rows,) in made[0]:
                    read[-1] += rows.tolist()
                    sizes.append(len(rows))
        return {"samples": samples, "read": read, "sizes": sizes}


def both(made: Any) -> Any:
    """Return the loader and the sampler."""
    if not isinstance(made, tuple | list) or len(made) != 2:
        raise BadReturn("make_loader returned no pair; return (loader, sampler)")
    return made


def _accuracies(right: Tensor, world: int, batch: int) -> dict[str, float]:
    """Return what usual mistakes make of an accuracy, where each rank has samples."""
    shares = [right[rank::world].double() for rank in range(min(world, len(right)))]
    batches = [it.mean() for share in shares for it in share.split(batch)]
    return {
        "your accuracy is the mean of the ranks' accuracies, and their shares have different sizes": (
            sum(it.mean().item() for it in shares) / world
        ),
        "your accuracy is the mean of the batches' accuracies, and the last batch is shorter": (
            sum(map(float, batches)) / len(batches)
        ),
    }


@contextlib.contextmanager
def seeming(on_gpu: bool) -> Iterator[None]:
    """Let a GPU seem to be there, or none."""
    with contextlib.ExitStack() as stack:
        for module in (torch.cuda, torch.accelerator):
            for name, answer in (("is_available", on_gpu), ("device_count", int(on_gpu))):
                stack.enter_context(mock.patch.object(module, name, return_value=answer))
        yield
