"""What the probes of part 5 work with: one training of Blocks, in two processes and in one; a checkpoint."""

from __future__ import annotations

import math
import os
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh

from autograder.worker import rig as worker
from autograder.worker.rigs import call_order, sharded
from autograder.worker.rigs.counters import Counter, tensors_in
from autograder.worker.rigs.returned import Returned, flat
from autograder.worker.rigs.sharded import WORLD

STEPS, ROWS = 3, 8
SECONDS = 30.0  # for one group, on a machine where much else runs
MOMENTS = ("exp_avg", "exp_avg_sq")
MASKS = (0o022, 0o026)  # of the files that each process writes: their modes tell who did
GROUPS = {"one process with a plain model": 1, "four processes": 4}
FEW = {"layers": 2}
"""The model of a checkpoint."""


def make_optimizer(parameters: Any) -> torch.optim.Optimizer:
    """Return one with two moments for each parameter, which feels how long a gradient is."""
    return torch.optim.AdamW(parameters, lr=0.01, eps=1e-2)


class Live(Counter):
    """Notes the most bytes on the CPU that were made in it and alive at once; of a DTensor, those of the shard."""

    peak = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Compute, then look which results have memory of their own."""
        result = func(*args, **(kwargs or {}))
        for tensor in map(sharded.local, tensors_in(result)):
            if tensor.device.type == "cpu":
                self._note(tensor)
        self.peak = max(self.peak, self.held)
        return result


class Sharding:
    """One training: other weights in each process, the right ones in rank 0 alone, batches of its own for each."""

    def __init__(self, rig: worker.Rig) -> None:
        """Draw batches, and a norm to clip by that is well below that of the gradients."""
        self._rig, self._seed, self._folder = rig, rig.seed, rig.folder
        self._make = rig.given("Blocks")
        shape = (WORLD, STEPS, ROWS)
        self.inputs = rig.tensor(rig.random.normal(size=(*shape, 16))).cpu()
        self.targets = torch.from_numpy(rig.random.integers(0, 10, shape))
        self.clip = float(rig.random.uniform(0.3, 0.5))
        self.criterion = nn.CrossEntropyLoss(label_smoothing=0.2)  # so that another one shows
        self.step = int(rig.random.integers(5, 50))

    def model(self, rank: int = 0, **sizes: int) -> nn.Module:
        """Return the model with the weights of a process; rank 0 has those that all are to have."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self._seed + rank)
            model: nn.Module = self._make(**sizes)
            return model

    def alone(self, *, clip: bool = False) -> dict[str, Any]:
        """Train in one process on the batches of all, and answer as they have to."""
        both = (it.transpose(0, 1).flatten(1, 2) for it in (self.inputs, self.targets))
        joined = zip(*both, strict=True)
        most = self.clip if clip else math.inf
        return sharded.alone(self.model(), make_optimizer, joined, self._loss, most)

    def _loss(self, model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
        loss: Tensor = self.criterion(model(batch[0]), batch[1])
        return loss

    def together(
        self, student: ModuleType, *, clip: bool = False, half: bool = False, reshard: bool = True
    ) -> dict[str, Any]:
        """Let each process shard and train; answer with what it has then."""
        from torch.distributed.fsdp import MixedPrecisionPolicy

        policy = {"policy": MixedPrecisionPolicy(torch.bfloat16, torch.float32)} if half else {}
        options = {**policy, **({} if reshard else {"reshard": False})}
        limit = {"clip": self.clip} if clip else {}
        work = partial(self._trained, student, options, limit)
        answers = sharded.together(WORLD, work, self._folder, SECONDS)
        return sharded.gathered(flat(dict(self.model().named_parameters())), answers)

    def built(self, student: ModuleType | None) -> dict[str, Any]:
        """Let each process shard, and answer with its whole weights and the most bytes that it held."""
        right = {"weights": flat(dict(self.model().named_parameters())), "peak": 0}
        ranks = [right] * WORLD
        if student is not None:
            work = partial(self._built, student)
            ranks = sharded.together(WORLD, work, self._folder, SECONDS)
        answers = self._rig.answers()
        for rank, own in enumerate(ranks):
            weights = torch.tensor(own["weights"], dtype=torch.float64)
            answers.add(f"rank {rank}: weights after shard", weights)
        return {**answers.values(), "peaks": [own["peak"] for own in ranks]}

    def built_without_a_state(self, student: ModuleType) -> dict[str, Any]:
        """Let each process shard what it draws."""

        def work(rank: int, mesh: DeviceMesh) -> dict[str, Any]:
            student.shard(self._make, mesh)
            return {}

        sharded.together(WORLD, work, self._folder, SECONDS)
        return {}

    def _state(self, rank: int) -> dict[str, Any]:
        """Return the weights that a process is handed, and let those that it draws be others."""
        state = self.model().state_dict() if rank == 0 else {}
        torch.manual_seed(self._seed + 1 + rank)
        return state

    def _built(self, student: ModuleType, rank: int, mesh: DeviceMesh) -> dict[str, Any]:
        state = self._state(rank)
        with Live(state.values()) as live:
            model = student.shard(self._make, mesh, state)
        return {"peak": live.peak, "weights": sharded.numbers(model.parameters())}

    def _trained(
        self, student: ModuleType, options: Any, limit: Any, rank: int, mesh: DeviceMesh
    ) -> dict[str, Any]:
        model = student.shard(self._make, mesh, self._state(rank), **options)
        batches = list(zip(self.inputs[rank], self.targets[rank], strict=True))

        def train() -> Returned:
            own = student.train_sharded(model, batches, self.criterion, make_optimizer, **limit)
            return Returned("train_sharded", own)

        return sharded.watched(model, mesh, train)

    # --- a checkpoint -------------------------------------------------------------------------------------------------

    def resumed(self, student: ModuleType) -> dict[str, Any]:
        """Save in two processes what was drawn; load it into a plain model in one, and into shards in four."""
        folder = self._folder / "checkpoint"
        sharded.together(WORLD, partial(self._saved, student, folder), self._folder, SECONDS)
        files = [it.stat() for it in folder.rglob("*") if it.is_file() and not it.is_symlink()]
        written = [
            sum(it.st_size for it in files if it.st_mode & 0o777 == 0o666 & ~mask) for mask in MASKS
        ]
        share = max(written) / max(1, sum(it.st_size for it in files))
        load = partial(self._loaded, student, folder)
        answers = [sharded.together(it, load, self._folder, SECONDS)[0] for it in GROUPS.values()]
        return {"rank": written.index(max(written)), "share": share, **self._answers(answers)}

    def drawn(self) -> dict[str, Any]:
        """Return what `resumed` has to be."""
        model = self.model(**FEW)
        moments = [it for own in zip(*self._moments(model), strict=True) for it in own]
        answer = {
            "weights": flat(dict(model.named_parameters())),
            "moments": flat(moments),
            "steps": [float(self.step)] * len(list(model.parameters())),
        }
        return {"rank": 0, "share": 0.0, **self._answers([answer] * len(GROUPS))}

    def _answers(self, by_group: list[dict[str, Any]]) -> dict[str, Any]:
        answers = self._rig.answers()
        for where, own in zip(GROUPS, by_group, strict=True):
            for name, numbers in own.items():
                answers.add(f"{where}: how many {name}", len(numbers))
                answers.add(f"{where}: {name}", torch.tensor(numbers, dtype=torch.float64))
        return answers.values()

    def _moments(self, model: nn.Module) -> list[list[Tensor]]:
        generator = torch.Generator().manual_seed(self._seed)
        return [
            [torch.rand(it.shape, generator=generator) for it in model.parameters()]
            for _ in MOMENTS
        ]

    def _saved(
        self, student: ModuleType, folder: Path, rank: int, mesh: DeviceMesh
    ) -> dict[str, Any]:
        from torch.distributed.tensor import DTensor

        model = self.model(**FEW)
        moments = self._moments(model)
        _shard(model, mesh)
        optimizer = make_optimizer(model.parameters())
        for parameter, *own in zip(model.parameters(), *moments, strict=True):
            shards = [
                DTensor.from_local(it.chunk(WORLD)[rank].clone(), mesh, parameter.placements)
                for it in own
            ]
            optimizer.state[parameter] = {
                "step": torch.tensor(float(self.step)),
                **dict(zip(MOMENTS, shards, strict=True)),
            }
        os.umask(MASKS[rank])
        student.save(model, optimizer, str(folder))
        call_order.returns("save")
        return {}

    def _loaded(
        self, student: ModuleType, folder: Path, rank: int, mesh: DeviceMesh
    ) -> dict[str, Any]:
        model = self.model(rank + 1, **FEW)
        if mesh.size() > 1:
            _shard(model, mesh)
        optimizer = make_optimizer(model.parameters())
        student.load(model, optimizer, str(folder))
        call_order.returns("load")
        states = [optimizer.state.get(it, {}) for it in model.parameters()]
        answer = {
            "weights": sharded.numbers(model.parameters()),
            "moments": sharded.numbers(
                own[name] for own in states for name in MOMENTS if name in own
            ),
            "steps": [float(own["step"]) for own in states if "step" in own],
        }
        return answer if rank == 0 else {}


def _shard(model: Any, mesh: DeviceMesh) -> None:
    from torch.distributed.fsdp import fully_shard

    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)


class Rig(worker.Rig):
    """The toolkit of this part's probes."""

    def sharding(self) -> Sharding:
        """Return a training for two processes."""
        return Sharding(self)
