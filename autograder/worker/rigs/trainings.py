"""make_training as a student's comparison is handed it: fresh weights each time, and a log of what was done."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor, nn

from autograder.worker.rigs.hooks import Hook
from autograder.worker.rigs.nets import Net

HALF = (torch.float16, torch.bfloat16)
Made = tuple[Net, nn.Module, torch.optim.Optimizer]


@dataclass(eq=False)
class Training:
    """What happened to one training: one that was asked for, or a copy of its model."""

    fresh: bool = True
    """Whether its weights were the first ones at its first pass."""
    full: int = 0
    """Forward passes in full precision."""
    half: int = 0
    """Forward passes in half precision."""
    back: int = 0
    """Backward passes."""
    scaled: int = 0
    """Losses that an enabled GradScaler scaled."""
    misplaced: int = 0
    """Losses that a GradScaler for another kind of device handed through, since it switches itself off here."""
    steps: int = 0
    """Steps of the optimizer that was made with it."""
    alive: tuple[int, ...] = ()
    """Other trainings whose weights were in memory at its first pass."""

    def went_back(self) -> None:
        self.back += 1

    def stepped(self, *_: Any) -> None:
        self.steps += 1


class Trainings:
    """make_training(device); `log` says what was done with each of them.

    A context: while it is active, losses that a GradScaler scales are counted as well.
    """

    def __init__(
        self,
        make: Callable[[], Made],
        wait: Callable[[float], None],
        seconds: Mapping[bool, float],
        cold: float,
    ) -> None:
        """A pass takes *seconds* by whether it is one in half precision; the first one of each kind *cold* more."""
        self.log: list[Training] = []
        self._make = make
        self._wait = wait
        self._seconds = seconds
        self._cold = dict.fromkeys(seconds, cold)
        self._known: weakref.WeakKeyDictionary[nn.Module, Training] = weakref.WeakKeyDictionary()
        self._weights: list[weakref.ref[Tensor]] = []
        self._last, self._half = Training(), False

    def __call__(self, device: torch.device) -> Made:
        model, criterion, optimizer = self._make()
        self._first = model.stem.weight.detach().clone()
        optimizer.register_step_post_hook(self._training_of(model).stepped)
        # Copies of the model bring these along. The dtype of what was computed, since any flag can be set by hand.
        model.stem.register_forward_hook(Hook(lambda *args: self._computed(args[2])))
        model.register_forward_hook(Hook(lambda module, _, output: self._passed(module, output)))
        model.register_forward_pre_hook(Hook(lambda module, _: self._begin(module)))
        return model.to(device), criterion, optimizer

    def values(self) -> list[dict[str, Any]]:
        """Return the log as plain values."""
        return [{**vars(training), "alive": list(training.alive)} for training in self.log[:64]]

    def _training_of(self, model: Net) -> Training:
        if model not in self._known:
            self._known[model] = Training()
            self.log.append(self._known[model])
            self._weights.append(weakref.ref(model.stem.weight))
        return self._known[model]

    def _begin(self, model: Net) -> None:
        training = self._training_of(model)
        if training.full + training.half == 0:
            gc.collect()
            own = self.log.index(training)
            training.alive = tuple(
                i for i, weight in enumerate(self._weights) if weight() is not None and i != own
            )
            now = model.stem.weight.detach().float()
            first = self._first.to(model.stem.weight.device)
            training.fresh = any(
                torch.equal(now, first.to(kind).float()) for kind in (torch.float32, *HALF)
            )
        self._half = False

    def _computed(self, output: Any) -> None:
        self._half = isinstance(output, Tensor) and output.dtype in HALF

    def _passed(self, model: Net, output: Tensor) -> None:
        training, half = self._training_of(model), self._half
        training.half += half
        training.full += not half
        self._wait(self._seconds[half] + self._cold[half])
        self._cold[half] = 0.0
        self._last = training
        if output.requires_grad:
            output.register_hook(lambda _: training.went_back())

    def __enter__(self) -> Self:
        kind = torch.amp.GradScaler
        self._scale = kind.scale

        def scale(scaler: torch.amp.GradScaler, outputs: Any) -> Any:
            self._last.scaled += scaler.is_enabled()
            self._last.misplaced += (
                not scaler.is_enabled() and scaler._device != self._first.device.type
            )
            return self._scale(scaler, outputs)

        kind.scale = scale  # type: ignore[method-assign, assignment]
        return self

    def __exit__(self, *_: object) -> None:
        torch.amp.GradScaler.scale = self._scale  # type: ignore[method-assign]
