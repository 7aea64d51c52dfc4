"""What probes of part 4 work with: segments that are checkpointed, and a network that fails when it runs again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn
from torchvision import models
from torchvision.models.resnet import BasicBlock

from autograder.protocol.images import CLASSES
from autograder.worker import rig as worker
from autograder.worker.rigs.resnets import WIDTH, ResNets, segments

SEGMENTS: dict[str, Callable[[], nn.Module]] = {
    "a stem": lambda: nn.Sequential(
        nn.Conv2d(3, WIDTH, 3), nn.BatchNorm2d(WIDTH), nn.ReLU(), nn.MaxPool2d(2)
    ),
    "a residual block": lambda: BasicBlock(3, 3),
    "a dropout": lambda: nn.Sequential(
        nn.Conv2d(3, WIDTH, 3), nn.Dropout(0.4), nn.Conv2d(WIDTH, 4, 3)
    ),
    "a cumulative BatchNorm": lambda: nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4, momentum=None), nn.SiLU()
    ),
    "a BatchNorm1d": lambda: nn.Sequential(
        nn.Flatten(), nn.Linear(192, 9), nn.BatchNorm1d(9, momentum=0.3)
    ),
}  # each takes images (batch, 3, 8, 8)


class FailsLater(nn.Module):
    """Squares its input once, and raises from then on."""

    def __init__(self) -> None:
        super().__init__()
        self.runs = 0

    def forward(self, x: Tensor) -> Tensor:
        """Return x * x."""
        self.runs += 1
        if self.runs > 1:
            raise ArithmeticError
        return x * x


def draw_norm(norm: nn.BatchNorm1d | nn.BatchNorm2d) -> None:
    """Let a norm be none that leaves its input as it is: weights and statistics as after some training."""
    with torch.no_grad():
        for tensor, least in (
            (norm.weight, 0.5),
            (norm.bias, -0.5),
            (norm.running_mean, -0.5),
            (norm.running_var, 0.5),
        ):
            assert tensor is not None
            tensor.uniform_(least, least + 1)


class Nets(ResNets):
    """`rig.nets`, and what is checkpointed."""

    segments = staticmethod(segments)
    fails_later = FailsLater

    def resnet18(self) -> nn.Module:
        """Return torchvision's."""
        make: Callable[[], nn.Module] = lambda: models.resnet18(weights=None, num_classes=CLASSES)  # noqa: E731 its type
        return self.drawn(make)

    def segment(self, kind: str) -> nn.Module:
        """Return one of SEGMENTS, and let what it draws while it runs be the same at each call too."""
        torch.manual_seed(self._seed)
        make: Callable[[], nn.Module] = SEGMENTS[kind]
        segment = make()
        for module in segment.modules():
            if isinstance(module, nn.BatchNorm1d | nn.BatchNorm2d):
                draw_norm(module)
        return segment.to(self._device)


class Rig(worker.Rig):
    """The toolkit of this part's probes."""

    nets: Nets

    def __init__(self, *, seed: int, side: str, device: str, folder: Path) -> None:
        super().__init__(seed=seed, side=side, device=device, folder=folder)
        self.nets = Nets(seed, self.device)
