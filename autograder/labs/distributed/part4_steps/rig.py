"""What the probes of part 4 work with: epochs and accuracies of a group and of one process, and loaders."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from autograder.worker import rig as worker
from autograder.worker.rigs import forked
from autograder.worker.rigs.collectives import Collectives
from autograder.worker.rigs.recorders import Dtypes
from autograder.worker.rigs.returned import BadReturn, Returned, flat, number

WORLD, FEATURES, HIDDEN, CLASSES = 2, 6, 16, 4
RATE, MOMENTUM, HUGE = 0.1, 0.9, 1e6
SECONDS = 30.0  # for all processes of a group, on a machine where much else runs
WAIT = timedelta(seconds=10)  # that a process waits for another one
WAITED = "rank {} waited in a collective call that another rank never made: all make the same calls"
SHARED = ("all_reduce", "all_gather", "reduce_scatter", "reduce", "gather")
CPU = torch.device("cpu")


@dataclass(frozen=True)
class Plan:
    """A training of one epoch."""

    samples: int
    """Of each process."""
    batch: int
    accumulation: int = 1
    amp: str = ""
    scale: float = 0.0
    """Of the scaler; 0: there is none."""
    clip: float | None = None
    smaller: float = 1.0
    """Times the loss; the rate is as many times larger."""
    overflows: int = -1
    """The batch of the last rank that float16 cannot hold."""

    @property
    def group(self) -> int:
        """Return the samples of a process in a step."""
        return self.batch * self.accumulation


class Criterion(nn.Module):
    """Smoothed, so that another criterion shows."""

    def __init__(self, smaller: float) -> None:
        super().__init__()
        self._loss = nn.CrossEntropyLoss(label_smoothing=0.2)
        self._smaller = smaller

    def forward(self, outputs: Tensor, labels: Tensor) -> Tensor:
        loss: Tensor = self._smaller * self._loss(outputs, labels)
        return loss


class Training:
    """One plan with its data: sample i of a rank is row i * WORLD + rank."""

    def __init__(self, rig: worker.Rig, plan: Plan) -> None:
        rows = plan.samples * WORLD
        self.plan, self._seed = plan, rig.seed
        self.inputs = rig.tensor(rig.random.normal(size=(rows, FEATURES))).cpu()
        self.labels = torch.from_numpy(rig.random.integers(0, CLASSES, rows))
        self.criterion = Criterion(plan.smaller)

    def model(self, rank: int = 0) -> nn.Module:
        """Return the weights that a process starts from."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self._seed + rank)
            layers = nn.Linear(FEATURES, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, CLASSES)
            return nn.Sequential(*layers)

    def optimizer(self, model: nn.Module, factor: float = 1.0) -> torch.optim.Optimizer:
        """Return one that remembers: a step too many is seen."""
        rate = factor * RATE / self.plan.smaller
        return torch.optim.SGD(model.parameters(), lr=rate, momentum=MOMENTUM)

    def alone(self, factor: float = 1.0) -> dict[str, Any]:
        """Train in one process and in float32, on the batches of all; the group that overflows is left out.

        With a *factor* as if gradients were so many times as large.
        """
        plan, model = self.plan, self.model()
        optimizer, losses, skipped = self.optimizer(model, factor), [], 0
        for start in range(0, plan.samples, plan.group):
            end = min(start + plan.group, plan.samples)
            if start <= plan.overflows * plan.batch < end:
                skipped += 1
                continue
            rows = slice(start * WORLD, end * WORLD)
            optimizer.zero_grad()
            loss = self.criterion(model(self.inputs[rows]), self.labels[rows])
            loss.backward()
            if plan.clip is not None:
                nn.utils.clip_grad_norm_(model.parameters(), plan.clip)
            optimizer.step()
            losses.append(loss.item() * (end - start))
        figures = {"loss": sum(losses) / plan.samples, "steps": len(losses), "skipped": skipped}
        return {**figures, "weights": flat(dict(model.state_dict())).tolist()}

    def together(self, train: Callable[..., Any], rank: int) -> dict[str, Any]:
        """Train in the process of a rank; say what it has then, and what was sent and computed."""
        plan, data = self.plan, TensorDataset(self._inputs(rank), self.labels)
        sampler: Any = DistributedSampler(data, WORLD, rank, shuffle=False)
        model = DistributedDataParallel(self.model(rank))
        options = {
            "accumulation": plan.accumulation,
            "amp": getattr(torch, plan.amp) if plan.amp else None,
            "scaler": torch.amp.GradScaler("cpu", init_scale=plan.scale) if plan.scale else None,
            "clip": plan.clip,
        }
        loader = DataLoader(data, plan.batch, sampler=sampler)
        arguments = (model, loader, self.criterion, self.optimizer(model), CPU)
        with Collectives() as sent, Dtypes(model.module, self.criterion) as dtypes:
            returned = Returned("train_epoch", train(*arguments, **options))
        calls = [call for call in sent.calls if call["kind"] in SHARED]
        return {
            **{name: number(returned[name]) for name in ("loss", "steps", "skipped")},
            "sent": sum(call["bytes"] for call in calls),
            "gradients": sum(it.nbytes for it in model.parameters()),
            "calls": len(calls),
            "dtypes": dtypes.values(),
            "weights": flat(dict(model.module.state_dict())).tolist(),
        }

    def _inputs(self, rank: int) -> Tensor:
        """Return what a rank is given: rows of others are none, and a batch may be too large for float16."""
        plan = self.plan
        inputs = torch.full_like(self.inputs, torch.nan)
        own = self.inputs[rank::WORLD].clone()
        if plan.overflows >= 0 and rank == WORLD - 1:
            own.split(plan.batch)[plan.overflows].mul_(HUGE)
        inputs[rank::WORLD] = own
        return inputs


class Epochs:
    """`rig.grouped`: some trainings by name, in a group and in one process."""

    def __init__(self, rig: worker.Rig, plans: Mapping[str, Mapping[str, Any]]) -> None:
        self._folder = rig.folder
        self._trainings = {case: Training(rig, Plan(**plan)) for case, plan in plans.items()}

    def alone(self) -> dict[str, Any]:
        nothing = {"sent": 0, "gradients": 0, "calls": 0, "dtypes": {}}
        trained = {case: {**it.alone(), **nothing} for case, it in self._trainings.items()}
        return self._answer([trained, {case: dict(own) for case, own in trained.items()}])

    def together(self, train: Callable[..., Any]) -> dict[str, Any]:
        def work(rank: int) -> dict[str, Any]:
            return {case: it.together(train, rank) for case, it in self._trainings.items()}

        return self._answer(group(WORLD, self._folder, work))

    def _answer(self, of_ranks: list[dict[str, Any]]) -> dict[str, Any]:
        arrays = {
            f"{case}: weights{rank}": flat(torch.tensor(own[case].pop("weights")))
            for rank, own in enumerate(of_ranks)
            for case in own
        }
        for case, it in self._trainings.items():
            arrays[f"{case}: start"] = flat(dict(it.model().state_dict()))
            arrays[f"{case}: summed"] = flat(torch.tensor(it.alone(WORLD)["weights"]))
        ranks = {case: [own[case] for own in of_ranks] for case in self._trainings}
        return {"ranks": ranks, **arrays}


def group(world: int, folder: Path, work: Callable[[int], dict[str, Any]]) -> list[dict[str, Any]]:
    """Let each rank, alone on its machine, do its work in a process group that is there."""

    def begin(rank: int) -> dict[str, Any]:
        torch.cuda.is_available = lambda: False  # processes of one group cannot share a GPU
        dist.init_process_group("gloo", timeout=WAIT)
        try:
            answer = work(rank)
        except RuntimeError as error:
            if any(word in str(error) for word in ("onnection", "imed out", "timeout")):
                raise BadReturn(WAITED.format(rank)) from error
            raise
        _end_together(rank, world)
        return answer

    folder.mkdir(exist_ok=True)
    return forked.together(world, lambda _: {"LOCAL_RANK": 0}, begin, folder, SECONDS)


def _end_together(rank: int, world: int) -> None:
    """Wait for the others: who ends first takes their connection along, and rank 0 the store."""
    with contextlib.suppress(Exception):
        store: Any = dist.distributed_c10d._get_default_store()
        for word in ("ended", "left"):
            store.set(f"{word}{rank}", "")
            if word == "ended" or rank == 0:
                store.wait([f"{word}{other}" for other in range(world)], WAIT)


# --- evaluation -------------------------------------------------------------------------------------------------------


class Evaluation:
    """A network whose training mode answers otherwise, and samples, the first of which it gets wrong."""

    def __init__(
        self, rig: worker.Rig, world: int, samples: int, batch: int, training: bool
    ) -> None:
        self.world, self._seed, self._batch, self._training = world, rig.seed, batch, training
        inputs = rig.tensor(rig.random.normal(size=(samples, FEATURES))).cpu()
        with torch.no_grad():
            answers = self.model().eval()(inputs).argmax(1)
        self.wrong = torch.from_numpy(rig.random.random(samples) < 0.4)
        self.wrong[0] = samples > 1
        self.data = TensorDataset(inputs, (answers + self.wrong) % CLASSES)

    def model(self) -> nn.Module:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self._seed)
            norm = nn.BatchNorm1d(HIDDEN)
            nn.init.normal_(norm.running_mean)  # type: ignore[arg-type]
            last = nn.Linear(HIDDEN, CLASSES)
            return nn.Sequential(nn.Linear(FEATURES, HIDDEN), norm, nn.Dropout(0.8), last)

    def alone(self) -> list[dict[str, Any]]:
        """Count in one process."""
        right = (~self.wrong).double()
        shares = [right[rank :: self.world] for rank in range(self.world)]
        own = [share.mean().item() if len(share) else 0.0 for share in shares]
        missing = -len(right) % self.world
        padded = torch.cat([right, right[torch.arange(missing) % len(right)]])
        whole = right.mean().item()
        slips = {"padded": padded.mean().item(), "averaged": sum(own) / len(own)}
        slips |= {"percent": 100 * whole, **{f"own{rank}": it for rank, it in enumerate(own)}}
        return [{"accuracy": whole, "training": self._training, "slips": slips}] * self.world

    def together(self, evaluate: Callable[..., Any], _: int) -> dict[str, Any]:
        """Evaluate in the process of a rank."""
        model = DistributedDataParallel(self.model()).train(self._training)
        accuracy = number(evaluate(model, self.data, self._batch, CPU))
        return {"accuracy": accuracy, "training": model.training, "slips": {}}


# --- loading ----------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def seeming(on_gpu: bool) -> Iterator[None]:
    """Let a GPU seem to be there, or none."""
    with contextlib.ExitStack() as stack:
        for module in (torch.cuda, torch.accelerator):
            for name, answer in (("is_available", on_gpu), ("device_count", int(on_gpu))):
                stack.enter_context(mock.patch.object(module, name, return_value=answer))
        yield


class Rig(worker.Rig):
    """The toolkit of this part's probes."""

    def grouped(self, plans: Mapping[str, Mapping[str, Any]]) -> Epochs:
        """Return trainings by name."""
        return Epochs(self, plans)

    def evaluations(
        self, cases: Mapping[str, tuple[int, int, int, bool]], evaluate: Callable[..., Any] | None
    ) -> dict[str, list[dict[str, Any]]]:
        """Evaluate each case, which is world, samples, batch and mode; without *evaluate*, say what is right."""
        answers = {}
        for at, (case, sizes) in enumerate(cases.items()):
            it = Evaluation(self, *sizes)
            work = partial(it.together, evaluate) if evaluate else None
            folder = self.folder / str(at)
            answers[case] = group(it.world, folder, work) if work else it.alone()
        return answers

    def shares(self, make: Callable[..., Any], world: int, workers: int) -> dict[str, Any]:
        """Let each rank go through two epochs, and rank 0 through one with another seed; say what they read."""
        samples, batch, seed = world * self.integer(5, 8) + 1, 4, self.integer(1, 1000)
        data = TensorDataset(torch.arange(samples))
        read: list[list[int]] = []
        sizes: list[int] = []
        for rank, own in [*((rank, seed) for rank in range(world)), (0, seed + 1)]:
            made = make(data, batch, rank, world, workers=workers, seed=own)
            if not isinstance(made, tuple | list) or len(made) != 2:
                raise BadReturn(
                    "make_loader returned no pair; return (loader, sampler)", "wrong type"
                )
            loader, sampler = made
            read.append([])
            for epoch in (0, 1):
                sampler.set_epoch(epoch)
                for (rows,) in loader:
                    read[-1] += rows.tolist()
                    sizes.append(len(rows))
        reseeded = read.pop()
        return {"samples": samples, "read": read, "reseeded": reseeded, "sizes": sizes}
