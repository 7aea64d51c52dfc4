"""What probes of part 6 work with: the weights that one saved, its memory and its work."""

from __future__ import annotations

import contextlib
import resource
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from autograder.worker import rig as worker
from autograder.worker.rigs.hooks import Hook
from autograder.worker.rigs.nets import Loader
from autograder.worker.rigs.returned import flat, text


def saved(file: Path, plain: nn.Module) -> tuple[str, dict[str, Tensor]]:
    """Read weights that were saved as those of a *plain* model: what is wrong with them, and those that fit."""
    if not file.is_file():
        return "the file that --save names is not there", {}
    try:
        state = torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:
        kind = text(type(error).__name__, 60)
        return f"torch.load(..., weights_only=True) refuses the file: {kind}", {}
    problem = _state_problem(state, plain.state_dict())
    return problem, {} if problem else state


def _state_problem(state: Any, expected: Mapping[str, Tensor]) -> str:
    if not isinstance(state, dict):
        return "the file holds no state_dict"
    for name in expected:
        if name not in state:
            return f"'{text(name, 60)}' is missing"
    for name in state:
        if name not in expected:
            return f"'{text(name, 60)}' is no name of the model"
    for name, tensor in expected.items():
        if getattr(state[name], "shape", None) != tensor.shape:
            return f"'{name}' has another shape"
    return ""


def loader_for(loader: Any, asked: list[dict[str, Any]]) -> Callable[..., Any]:
    """Return a stand-in for given.make_loader: always *loader*; what it was called with is appended to *asked*."""

    def make_loader(
        batch_size: int = 32,
        batches: int = 20,
        image_size: int = 32,
        num_workers: int = 0,
        data: str = "synthetic",
    ) -> Any:
        sizes = {"batch_size": batch_size, "batches": batches, "image_size": image_size}
        asked.append({**sizes, "num_workers": num_workers, "data": data})
        return loader

    return make_loader


def weights_of(saved: Mapping[str, Tensor], plain: nn.Module) -> dict[str, Any]:
    """Return parameters and running statistics, flat, in the order of *plain*; none where nothing was saved."""
    parameters, buffers = dict(plain.named_parameters()), dict(plain.named_buffers())
    return {
        name: flat([saved[key].float() for key in keys], torch.float32)
        if saved and keys
        else torch.zeros(0).numpy()
        for name, keys in (("weights", parameters), ("running", buffers))
    }


def turned(make: Callable[[Any], Any], passes: int) -> Callable[[Any], Any]:
    """Let networks take the class of every second sample for the next one after so many *passes*.

    So another share of the samples is right in one epoch than in the next, and never none. A network with its first
    weights begins to count again.
    """

    def make_training(device: torch.device) -> Any:
        model, criterion, optimizer = make(device)
        first, passed = model.fc.weight.detach().clone(), [0]

        def turn(layer: nn.Linear, _: Any, logits: Tensor) -> Tensor:
            if logits.requires_grad:
                passed[0] = 0 if torch.equal(layer.weight, first) else passed[0] + 1
            if passed[0] >= passes:
                every_second = torch.arange(len(logits), device=logits.device)[:, None] % 2 == 0
                logits = torch.where(every_second, logits.roll(1, dims=1), logits)
            return logits

        model.fc.register_forward_hook(Hook(turn))
        return model, criterion, optimizer

    return make_training


class Rig(worker.Rig):
    """The toolkit of this part's probes."""

    loader_for = staticmethod(loader_for)
    turned = staticmethod(turned)
    saved_weights = staticmethod(saved)
    weights_of = staticmethod(weights_of)

    def busy_since(self, loader: Loader) -> Callable[[], float]:
        """Return what tells the seconds of computing since the last pass over *loader* began."""
        begun = [0.0]
        loader.listeners.append(
            lambda index: begun.__setitem__(0, begun[0] if index else self.clock.worked)
        )
        return lambda: self.clock.worked - begun[0]

    @contextlib.contextmanager
    def half_as_on_a_gpu(self) -> Iterator[None]:
        """Let float16 be what autocast takes where nothing else is asked for."""
        kind, before = self.device.type, torch.get_autocast_dtype(self.device.type)
        torch.set_autocast_dtype(kind, torch.float16)
        try:
            yield
        finally:
            torch.set_autocast_dtype(kind, before)

    def peak_mb(self) -> float:
        """Return the most MB (1e6 bytes) that was ever held: of the GPU's memory, or by this process without one."""
        if self.device.type == "cuda":
            return torch.cuda.max_memory_allocated(self.device) / 1e6
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
