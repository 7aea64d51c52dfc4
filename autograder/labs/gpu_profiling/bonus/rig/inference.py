"""What a probe needs around inference: layers with drawn statistics, a model that notes how it is called, requests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from autograder.worker.rigs.clock import VirtualClock

# How far the first class is ahead of the second: rounding decides nothing, nor does TF32.
CLEAR = 0.5
SIDE, CLASSES = 6, 5
BATCHES = (4, 4, 3)  # images; the last one is shorter


class Broken(RuntimeError):  # noqa: N818 raised for the student to pass on
    """What a loader raises in the middle."""


class Watched(nn.Module):
    """A small network with dropout and batch norm; notes whether each pass could be learnt from."""

    def __init__(self, draw: Callable[..., Tensor]) -> None:
        """Draw its numbers; one block is frozen: it stays in eval() while the others train."""
        super().__init__()
        conv = nn.Conv2d(3, 4, 3)
        self.first = nn.Sequential(conv, drawn_norm(4, draw), nn.Dropout(0.5))
        self.frozen = drawn_norm(4, draw)
        self.last = nn.Linear(4 * (SIDE - 2) ** 2, CLASSES)
        conv.weight = nn.Parameter(draw(*conv.weight.shape))
        self.last.weight = nn.Parameter(draw(*self.last.weight.shape))
        self.train()
        self.frozen.eval()
        self.recorded: list[bool] = []

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.last(self.frozen(self.first(x)).flatten(1))
        self.recorded.append(logits.requires_grad)
        return logits

    def modes(self) -> list[bool]:
        return [module.training for module in self.modules()]

    def settings(self) -> tuple[list[bool], list[bool]]:
        """Return which modules are in train(), and which parameters ask for a gradient."""
        return self.modes(), [weight.requires_grad for weight in self.parameters()]

    def left(self, before: tuple[list[bool], list[bool]]) -> str:
        """Say what is not as it was *before*; or nothing."""
        (modes, asked), now = before, self.settings()
        if asked != now[1]:
            return "requires_grad of a parameter has changed"
        changed = [mode for mode, new in zip(modes, now[0], strict=True) if mode != new]
        if not changed:
            return ""
        if all(changed):
            return "a module that was in train() is in eval() afterwards"
        return "a module that was in eval() is in train() afterwards"


def drawn_norm(channels: int, draw: Callable[..., Tensor]) -> nn.BatchNorm2d:
    """Return a batch norm in eval() that has seen something, whose eps counts."""
    norm = nn.BatchNorm2d(channels, eps=0.01)
    norm.weight, norm.bias = nn.Parameter(draw(channels)), nn.Parameter(draw(channels))
    norm.running_mean, norm.running_var = draw(channels), draw(channels).square() / 4
    return norm.eval()


class Requests:
    """Calls that take scripted seconds: cold ones first, and part of each is left for the device to do."""

    def __init__(
        self, clock: VirtualClock, seconds: list[float], warmup: int, queued: float
    ) -> None:
        """*queued* is the share of each call that only synchronize waits for."""
        self._clock, self._seconds, self._queued = clock, [5.0] * warmup + seconds, queued
        self._warm = seconds
        self.calls, self._waiting = 0, 0.0

    def __call__(self) -> None:
        """Take the next seconds, the last ones again and again at the end."""
        seconds = self._seconds[min(self.calls, len(self._seconds) - 1)]
        self.calls += 1
        self._clock.advance(seconds * (1 - self._queued), busy=True)
        self._waiting += seconds * self._queued

    def figures(self) -> dict[str, float]:
        p50, p95, p99 = (1000 * float(it) for it in np.percentile(self._warm, (50, 95, 99)))
        per_second = len(self._warm) / sum(self._warm)
        return {"p50_ms": p50, "p95_ms": p95, "p99_ms": p99, "per_second": per_second}

    def synchronize(self) -> None:
        self._clock.advance(self._waiting)
        self._waiting = 0.0


class Inference:
    def __init__(self, random: np.random.Generator, clock: VirtualClock) -> None:
        self._random, self._clock = random, clock

    def draw(self, *shape: int) -> Tensor:
        return torch.from_numpy(self._random.normal(size=shape)).float()

    def layers(self) -> Iterator[tuple[str, nn.Conv2d, nn.BatchNorm2d, Tensor]]:
        """Yield convolutions of several kinds with a batch norm each, both in eval(), and images."""
        kinds: dict[str, dict[str, Any]] = {
            "without a bias": {"bias": False},
            "with a bias": {},
            "in groups": {"groups": 2, "stride": 2},
            "dilated": {"dilation": 2, "padding": 1},
        }
        for kind, options in kinds.items():
            channels = 2 * int(self._random.integers(1, 4))
            conv = nn.Conv2d(4, channels, 3, **options).eval()
            conv.weight = nn.Parameter(self.draw(*conv.weight.shape))
            if conv.bias is not None:
                conv.bias = nn.Parameter(self.draw(channels))
            yield kind, conv, drawn_norm(channels, self.draw), self.draw(3, 4, 9, 8)

    def model(self) -> Watched:
        return Watched(self.draw)

    def batches(self, model: Watched) -> list[Tensor]:
        """Return images whose class is clear; some where dropout, or batch norm in train(), would say another."""
        images = self.draw(40 * sum(BATCHES), 3, SIDE, SIDE)
        two = self.logits(model, images).topk(2).values
        return list(images[two[:, 0] - two[:, 1] > CLEAR][: sum(BATCHES)].split(list(BATCHES)))

    def logits(self, model: Watched, images: Tensor) -> Tensor:
        """Return what the model says in eval(); it is afterwards as it was."""
        modes = model.modes()
        with torch.no_grad():
            logits: Tensor = model.eval()(images)
        for module, mode in zip(model.modules(), modes, strict=True):
            module.training = mode
        model.recorded.clear()
        return logits

    def classes(self, model: Watched, batches: list[Tensor]) -> Tensor:
        return self.logits(model, torch.cat(batches)).argmax(1)

    @staticmethod
    def broken(batches: list[Tensor]) -> Iterator[Tensor]:
        yield batches[0]
        raise Broken("the loader broke")

    def survived(self, predict: Callable[..., Any], model: Watched, batches: list[Tensor]) -> bool:
        try:
            predict(model, self.broken(batches), torch.device("cpu"))
        except Broken:
            return True
        return False

    def requests(self, seconds: list[float], warmup: int, queued: float) -> Requests:
        return Requests(self._clock, seconds, warmup, queued)
