"""What the probes of part 13 work with: one training of a TinyLM, in two processes and in one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh

from autograder.worker import rig as worker
from autograder.worker.rigs import sharded
from autograder.worker.rigs.returned import BadReturn, Returned, flat, text

WORLD, BLOCKS, STEPS, ROWS, LENGTH, VOCABULARY = 2, 4, 3, 4, 12, 97
FEW = 3  # tokens of the second batch
SECONDS = 40.0  # in all, on a machine where much else runs
FACTOR = 1.5  # times the weights, before they are saved
Work = Callable[[DeviceMesh, nn.Module], dict[str, Any]]


def make_optimizer(parameters: Any) -> torch.optim.Optimizer:
    """Return one with two moments for each parameter."""
    return torch.optim.AdamW(parameters, lr=0.01, eps=1e-3)


class Sharding:
    """One training: the same weights in each process, and batches of its own for each."""

    def __init__(self, rig: worker.Rig) -> None:
        """Draw the batches, one of few tokens: its gradients alone are larger than the norm to clip by."""
        self._seed, self._folder, self._make = rig.seed, rig.folder, rig.given("TinyLM")
        shape = (WORLD, STEPS, ROWS, LENGTH)
        self.batches = torch.from_numpy(rig.random.integers(0, VOCABULARY, shape))
        self.batches[:, 1] %= FEW
        self.clip = float(rig.random.uniform(1.0, 1.3))

    def model(self) -> nn.Module:
        """Return the model before it is sharded."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self._seed)
            model: nn.Module = self._make(VOCABULARY, blocks=BLOCKS)
            return model

    def alone(self) -> dict[str, Any]:
        """Train in one process on the batches of all, and answer as they have to."""
        joined = self.batches.transpose(0, 1).flatten(1, 2)
        return sharded.alone(self.model(), make_optimizer, joined, _loss, self.clip)

    def together(self, student: ModuleType, **options: Any) -> dict[str, Any]:
        """Let each process shard and train; answer with what it has then."""
        answers = self._forked(student, options, partial(self._trained, student))
        return sharded.gathered(flat(dict(self.model().named_parameters())), answers)

    def first(self, student: ModuleType | None, **options: Any) -> dict[str, Any]:
        """Return what rank 0 computes of its first batch; without a *student*, in one process and in float32."""
        if student is None:
            return {"logits": flat(self.model()(self.batches[0, 0]).logits)}
        return {"logits": np.array(self._forked(student, options, self._logits)[0]["logits"])}

    def saved(self, student: ModuleType) -> dict[str, Any]:
        """Shard, change the weights, and let each process return them whole."""
        answers = self._forked(student, {}, partial(self._whole, student))
        return {
            "saved": np.concatenate([np.array(own.pop("saved")) for own in answers]),
            "ranks": answers,
        }

    def expected(self) -> dict[str, Any]:
        """Return what `saved` has to be."""
        state = {name: FACTOR * value for name, value in self.model().state_dict().items()}
        shapes = [list(value.shape) for value in state.values()]
        whole = {"names": list(state), "kinds": ["Tensor on cpu"], "shapes": shapes}
        nothing: dict[str, list[Any]] = {"names": [], "kinds": [], "shapes": []}
        answers = [{**each, "gathered": 0} for each in (whole, nothing)]
        return {"saved": flat(state), "ranks": answers}

    def _forked(self, student: ModuleType, options: Any, work: Work) -> list[dict[str, Any]]:
        """Shard and work in each process; a dtype is given by its name."""
        if "dtype" in options:
            options = {**options, "dtype": getattr(torch, options["dtype"])}

        def begin(rank: int, mesh: DeviceMesh) -> dict[str, Any]:
            model = student.shard(self.model(), mesh, **options)
            return work(mesh, model)

        return sharded.together(WORLD, begin, self._folder, SECONDS)

    def _trained(self, student: ModuleType, mesh: DeviceMesh, model: nn.Module) -> dict[str, Any]:
        def train() -> dict[str, Any]:
            batches = list(self.batches[mesh.get_rank()])
            returned = student.train_sharded(model, make_optimizer, batches, self.clip)
            if not isinstance(returned, tuple | list) or len(returned) != 2:
                pair = "train_sharded returned no pair; return (losses, norms)"
                raise BadReturn(pair, "wrong type")
            return dict(zip(("losses", "norms"), returned, strict=True))

        return sharded.watched(model, mesh, train)

    def _logits(self, mesh: DeviceMesh, model: nn.Module) -> dict[str, Any]:
        with torch.no_grad():
            logits = model(self.batches[mesh.get_rank(), 0]).logits
        return {"logits": flat(logits).tolist()}

    def _whole(self, student: ModuleType, _: DeviceMesh, model: nn.Module) -> dict[str, Any]:
        with torch.no_grad():
            for weight in model.parameters():
                weight.mul_(FACTOR)
        whole = Returned("whole_weights", student.whole_weights(model))
        kinds = sorted({_kind(value) for value in whole.values()})
        plain = kinds == ["Tensor on cpu"]
        shards = [hasattr(weight, "to_local") for weight in model.parameters()]
        return {
            "gathered": shards.count(False),
            "names": list(whole),
            "kinds": kinds,
            "shapes": [list(value.shape) for value in whole.values()] if plain else [],
            "saved": flat(dict(whole)).tolist() if plain else [],
        }


def _kind(value: Any) -> str:
    """Name what a weight is: a plain tensor, or another class."""
    plain = type(value) in (Tensor, nn.Parameter)
    return f"Tensor on {value.device.type}" if plain else text(type(value).__name__, 60)


def _loss(model: nn.Module, batch: Tensor) -> Tensor:
    loss: Tensor = model(batch, labels=batch).loss
    return loss


class Rig(worker.Rig):
    """The toolkit of this part's probes."""

    def sharding(self) -> Sharding:
        """Return a training for two processes."""
        return Sharding(self)
