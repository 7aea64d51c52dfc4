"""What the probes of part 13 work with: one training of a TinyLM, in two processes and in one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.optim.optimizer import register_optimizer_step_post_hook

from autograder.worker import rig as worker
from autograder.worker.rigs import forked
from autograder.worker.rigs.collectives import MOST, Collectives
from autograder.worker.rigs.returned import BadReturn, Returned, dtype_name, flat, series, text

WORLD, BLOCKS, STEPS, ROWS, LENGTH, VOCABULARY = 2, 4, 3, 4, 12, 97
FEW = 3  # tokens of the second batch
SECONDS = 40.0  # in all, on a machine where much else runs
FACTOR = 1.5  # times the weights, before they are saved
Work = Callable[[int, nn.Module], dict[str, Any]]


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
        model = self.model()
        start = flat(dict(model.named_parameters()))
        optimizer = make_optimizer(model.parameters())
        losses, norms = [], []
        for batch in self.batches.transpose(0, 1).flatten(1, 2):
            optimizer.zero_grad()
            loss = model(batch, labels=batch).loss
            loss.backward()
            norms.append(nn.utils.clip_grad_norm_(model.parameters(), self.clip))
            losses.append(loss.detach())
            optimizer.step()
        told = {"steps": [], "held": held(model, optimizer), "dtypes": ["float32"]}
        figures = {
            "weights": flat(dict(model.named_parameters())),
            "losses": series(losses, "losses"),
            "norms": series(norms, "norms"),
        }
        return {"start": start, "ranks": [told] * WORLD, **_by_rank([figures] * WORLD)}

    def together(self, student: ModuleType, **options: Any) -> dict[str, Any]:
        """Let each process shard and train; answer with what it has then. A dtype is given by its name."""
        if "dtype" in options:
            options["dtype"] = getattr(torch, options["dtype"])
        told = self._forked(student, options, partial(self._trained, student))
        figures = [
            {n: np.array(own.pop(n)) for n in ("weights", "losses", "norms")} for own in told
        ]
        start = flat(dict(self.model().named_parameters()))
        return {"start": start, "ranks": told, **_by_rank(figures)}

    def saved(self, student: ModuleType) -> dict[str, Any]:
        """Shard, change the weights, and let each process return them whole."""
        told = self._forked(student, {}, partial(self._whole, student))
        return {
            "saved": np.concatenate([np.array(own.pop("saved")) for own in told]),
            "ranks": told,
        }

    def expected(self) -> dict[str, Any]:
        """Return what `saved` has to be."""
        state = {name: FACTOR * value for name, value in self.model().state_dict().items()}
        told = [{"names": list(state), "kinds": ["Tensor on cpu"]}, {"names": [], "kinds": []}]
        return {"saved": flat(state), "ranks": told}

    def _forked(self, student: ModuleType, options: Any, work: Work) -> list[dict[str, Any]]:
        import torch.distributed.checkpoint.state_dict  # once, and not in each process
        import torch.distributed.fsdp

        def begin(rank: int) -> dict[str, Any]:
            # Processes of one group cannot share a GPU.
            torch.cuda.is_available = lambda: False
            mesh = init_device_mesh("cpu", (WORLD,))
            return work(rank, student.shard(self.model(), mesh, **options))

        return forked.together(
            WORLD, lambda rank: {"LOCAL_RANK": rank}, begin, self._folder, SECONDS
        )

    def _trained(self, student: ModuleType, rank: int, model: nn.Module) -> dict[str, Any]:
        own: dict[str, Any] = {"held": dict.fromkeys(("parameters", "gradients", "state"), 0)}

        def note(optimizer: torch.optim.Optimizer, *_: Any) -> None:
            own["held"] = held(model, optimizer)

        hook = register_optimizer_step_post_hook(note)
        with Collectives() as seen:
            returned = student.train_sharded(
                model, make_optimizer, list(self.batches[rank]), self.clip
            )
        hook.remove()
        if not isinstance(returned, tuple | list) or len(returned) != 2:
            raise BadReturn("train_sharded returned no pair; return (losses, norms)", "wrong type")
        weights = [_full(it.detach()) for it in model.parameters()]
        return {
            **own,
            "dtypes": sorted({dtype_name(it) for it in model.parameters()}),
            "steps": [[_told(call) for call in step[:MOST]] for step in seen.steps[:MOST]],
            "weights": flat(weights).tolist(),
            "losses": series(returned[0], "losses").tolist(),
            "norms": series(returned[1], "norms").tolist(),
        }

    def _whole(self, student: ModuleType, _: int, model: nn.Module) -> dict[str, Any]:
        with torch.no_grad():
            for weight in model.parameters():
                weight.mul_(FACTOR)
        whole = Returned("whole_weights", student.whole_weights(model))
        kinds = sorted({_kind(value) for value in whole.values()})
        plain = kinds == ["Tensor on cpu"]
        return {
            "names": list(whole),
            "kinds": kinds,
            "saved": flat(dict(whole)).tolist() if plain else [],
        }


def held(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, int]:
    """Return the bytes of a process's storages, by what is in them."""
    parameters = list(model.parameters())
    state = [it for own in optimizer.state.values() for it in own.values()]
    gradients = [it.grad for it in parameters]
    return {
        "parameters": _bytes(parameters),
        "gradients": _bytes(gradients),
        "state": _bytes(state),
    }


def _bytes(values: Sequence[Any]) -> int:
    storages = [_local(it).untyped_storage() for it in values if isinstance(it, Tensor)]
    return sum({it.data_ptr(): it.nbytes() for it in storages}.values())


def _local(tensor: Any) -> Tensor:
    local: Tensor = tensor.to_local() if hasattr(tensor, "to_local") else tensor
    return local


def _full(tensor: Any) -> Tensor:
    full: Tensor = tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor
    return full


def _kind(value: Any) -> str:
    """Name what a weight is: a plain tensor, or another class."""
    plain = type(value) in (Tensor, nn.Parameter)
    return f"Tensor on {value.device.type}" if plain else text(type(value).__name__, 60)


def _told(call: dict[str, Any]) -> dict[str, Any]:
    return {name: call[name] for name in ("kind", "bytes", "dtype")}


def _by_rank(figures: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {f"{name}{rank}": it for rank, own in enumerate(figures) for name, it in own.items()}


class Rig(worker.Rig):
    """The toolkit of this part's probes."""

    def sharding(self) -> Sharding:
        """Return a training for two processes."""
        return Sharding(self)
