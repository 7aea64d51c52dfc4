"""Networks with the parts of torchvision's ResNets, and segments of them: small, so that a step takes milliseconds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torchvision.models.resnet import BasicBlock

from autograder.protocol.images import CLASSES
from autograder.worker.rigs.clock import VirtualClock
from autograder.worker.rigs.hooks import Hook

M = TypeVar("M", bound=nn.Module)
# Channels, everywhere: so each layer keeps about as much for the backward pass as the others.
WIDTH = 8
GROUPS = 2  # of a GroupNorm
BLOCKS = 2  # of a layer, as in ResNet-18


class SmallResNet(nn.Module):
    """conv1, bn1, relu, maxpool, layer1 to layer4, avgpool, fc: as a torchvision ResNet has them, in its order."""

    def __init__(self, norm: Callable[[int], nn.Module], blocks: int = BLOCKS) -> None:
        """Draw the weights from torch's current seed."""
        super().__init__()
        self.conv1 = nn.Conv2d(3, WIDTH, 3, padding=1, bias=False)
        self.bn1 = norm(WIDTH)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, stride=1, padding=1)
        for name in ("layer1", "layer2", "layer3", "layer4"):
            setattr(
                self,
                name,
                nn.Sequential(*[BasicBlock(WIDTH, WIDTH, norm_layer=norm) for _ in range(blocks)]),
            )
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(WIDTH, CLASSES)

    def forward(self, images: Tensor) -> Tensor:
        """Classify images (batch, 3, height, width)."""
        x = images
        for segment in segments(self):
            x = segment(x)
        logits: Tensor = self.fc(torch.flatten(self.avgpool(x), 1))
        return logits


def group_norm(channels: int) -> nn.Module:
    """Return a norm that looks at one sample at a time, so that a batch may be cut anywhere."""
    return nn.GroupNorm(GROUPS, channels)


def segments(net: Any) -> list[nn.Module]:
    """Cut a ResNet, small or torchvision's, into what is checkpointed: its stem and its four layers."""
    stem = nn.Sequential(net.conv1, net.bn1, net.relu, net.maxpool)
    return [stem, net.layer1, net.layer2, net.layer3, net.layer4]


def run_again(ran: Sequence[int]) -> int:
    """Return the most segments that ran between two passes through all convolutions, whose numbers go up in each."""
    whole = sorted({*ran})
    at = count = most = 0
    while at < len(ran):
        if list(ran[at : at + len(whole)]) == whole:
            at += len(whole)
            count = 0
            continue
        count += at == 0 or ran[at] <= ran[at - 1]
        at += 1
        most = max(most, count)
    return most


class ResNets:
    """`rig.nets`: the same fresh weights at each call; torch's own random numbers stay as they were."""

    run_again = staticmethod(run_again)

    def __init__(self, seed: int, device: torch.device) -> None:
        self._seed, self._device = seed, device

    def small(self, norm: str = "batch") -> SmallResNet:
        """Return a small ResNet with BatchNorms, or with *norm* group, which keeps samples apart."""
        return self.drawn(lambda: SmallResNet(nn.BatchNorm2d if norm == "batch" else group_norm))

    def numbers(self, net: nn.Module) -> list[int]:
        """Return a list that gets the number of each convolution of *net* whenever it runs."""
        ran: list[int] = []
        for number, module in enumerate(net.modules()):
            if isinstance(module, nn.Conv2d):
                module.register_forward_pre_hook(Hook(lambda *_, number=number: ran.append(number)))
        return ran

    def drawn(self, make: Callable[[], M]) -> M:
        """Make one, of the same weights at each call."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self._seed)
            return make().to(self._device)


class Smaller(nn.Module):
    """A criterion's value, divided."""

    def __init__(self, criterion: nn.Module, by: int) -> None:
        """Divide *by* a power of two, so that no digit is lost."""
        super().__init__()
        self.criterion, self.by = criterion, by

    def forward(self, outputs: Tensor, labels: Tensor) -> Tensor:
        loss: Tensor = self.criterion(outputs, labels) / self.by
        return loss


def smaller_loss(criterion: nn.Module, by: int) -> nn.Module:
    """Return a criterion whose value is so many times smaller, or itself."""
    return criterion if by == 1 else Smaller(criterion, by)


def scripted(
    make: Callable[[], Any],
    clock: VirtualClock,
    seconds: float,
    cold: float,
    half: float,
    passes: Counter[nn.Module],
    ran: list[int],
) -> Callable[[Any], Any]:
    """Return a make_training whose networks take *seconds* for a convolution, under autocast the share *half* of that.

    The very first backward pass takes *cold* seconds. *passes* counts, by the last layer of each network. *ran* gets
    the number of each convolution that runs.
    """
    left = [cold]

    def wait(number: int, layer: nn.Conv2d, *_: Any) -> None:
        ran.append(number)
        clock.advance(
            seconds * (half if torch.is_autocast_enabled(layer.weight.device.type) else 1.0),
            busy=True,
        )

    def begin(*_: Any) -> None:
        clock.advance(left[0], busy=True)
        left[0] = 0.0

    def passed(layer: nn.Module, _: Any, logits: Tensor) -> None:
        passes[layer] += 1
        if logits.requires_grad:
            logits.register_hook(begin)

    def make_training(device: torch.device) -> Any:
        model, criterion, optimizer = make()
        for number, module in enumerate(model.modules()):
            if isinstance(module, nn.Conv2d):
                module.register_forward_pre_hook(Hook(partial(wait, number)))
        model.fc.register_forward_hook(Hook(passed))
        return model.to(device), criterion, optimizer

    return make_training
