"""Batches that do not fit: attempts and trainings that run out of memory above a size, on a clock that is moved."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from itertools import cycle
from typing import Any
from unittest.mock import patch
from weakref import WeakSet

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from autograder.labs.gpu_profiling.part6_final.versions import START
from autograder.worker.rigs.clock import VirtualClock
from autograder.worker.rigs.hooks import Hook

MOST = 200  # sizes that are told


class Attempt:
    """attempt(size): does nothing, or raises what a GPU raises; *broken* ones raise something else at every size."""

    def __init__(self, limit: int, *, broken: bool = False) -> None:
        self.asked: list[int] = []
        self._limit, self._broken = limit, broken

    def __call__(self, size: Any) -> None:
        self.asked = [*self.asked, int(size)][:MOST]
        if self._broken:
            raise RuntimeError("the shapes cannot be multiplied, says the made attempt")
        if size > self._limit:
            raise torch.OutOfMemoryError("CUDA out of memory, says the made attempt")


class Pictures(Dataset[tuple[Tensor, int]]):
    """Samples each of which takes scripted seconds to load; any three reads of one take three times as many."""

    def __init__(
        self, images: Tensor, labels: list[int], clock: VirtualClock, seconds: float
    ) -> None:
        self._images, self._labels, self._clock = images, labels, clock
        self._times = 0.25 * seconds, seconds, 1.75 * seconds
        self._reads = [0 for _ in labels]

    def __len__(self) -> int:
        return len(self._labels)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        self._clock.advance(self._times[self._reads[index] % 3])
        self._reads[index] += 1
        return self._images[index], self._labels[index]


class Crowded:
    """make_training(device) whose models fit *limit* samples; a pass takes scripted seconds, the first of all more.

    Up to twice as many fit into a forward pass, and not into the backward pass. Passes are not equally long, and any
    three are as long as any other three. Compiled ones take what their compiler says.
    """

    def __init__(
        self,
        make: Callable[[], Any],
        clock: VirtualClock,
        *,
        limit: int,
        seconds: float,
        cold: float,
    ) -> None:
        """*make* returns model, criterion and optimizer, alike at each call."""
        self._make, self._clock, self._limit, self._left = make, clock, limit, cold
        self._passes = cycle([0.85 * seconds, seconds, 1.15 * seconds])

    def __call__(self, device: torch.device) -> Any:
        model, criterion, optimizer = self._make()
        model.register_forward_pre_hook(Hook(self._enter))
        model.register_forward_hook(Hook(self._leave))
        return model.to(device), criterion, optimizer

    def _enter(self, _: Any, arguments: Any) -> None:
        if torch.compiler.is_compiling():
            return
        if len(arguments[0]) > 2 * self._limit:
            raise torch.OutOfMemoryError(_full(arguments, "forward"))
        self._clock.advance(next(self._passes) + self._left, busy=True)
        self._left = 0.0

    def _leave(self, _: Any, arguments: Any, output: Any) -> None:
        if (
            not torch.compiler.is_compiling()
            and len(arguments[0]) > self._limit
            and output.requires_grad
        ):
            output.register_hook(partial(self._raise, _full(arguments, "backward")))

    def _raise(self, words: str, _: Any) -> None:
        raise torch.OutOfMemoryError(words)


def _full(arguments: Any, kind: str) -> str:
    count = len(arguments[0])
    return f"CUDA out of memory: in this test {count} samples do not fit ({kind} pass)"


class Sizes:
    """`rig.sizes`."""

    attempt = Attempt

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock

    @staticmethod
    def largest(look: Callable[..., Any], limit: int, step: int) -> Any:
        """Return what *look* finds; nothing where no half of the step fits."""
        with suppress(torch.OutOfMemoryError):
            return look(Attempt(limit), step)

    @contextmanager
    def slow_starts(self) -> Iterator[None]:
        """Let each DataLoader take its time when it is gone through for the first time."""
        begin, begun = DataLoader.__iter__, WeakSet[Any]()

        def started(loader: Any) -> Any:
            if loader not in begun:
                begun.add(loader)
                self._clock.advance(START)
            return begin(loader)

        with patch.object(DataLoader, "__iter__", started):
            yield

    def pictures(self, images: Tensor, labels: list[int], seconds: float) -> Pictures:
        """Return a data set."""
        return Pictures(images, labels, self._clock, seconds)

    def trainings(
        self, make: Callable[[], Any], *, limit: int, seconds: float, cold: float
    ) -> Crowded:
        """Return a make_training."""
        return Crowded(make, self._clock, limit=limit, seconds=seconds, cold=cold)
