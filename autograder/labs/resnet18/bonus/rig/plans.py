"""Trainings to plan the memory of, and what they really need: counted on real tensors, in a process that is trusted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks
from torchvision import models

from autograder.worker.rigs.counters import Saved

Made = tuple[nn.Module, nn.Module, torch.optim.Optimizer]
MakeTraining = Callable[[], Made]
CLASSES = 10


class Tied(nn.Module):
    """A gate, whose halves are views of one storage, and two layers with one weight, which is held once."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.into = nn.Sequential(
            nn.Conv2d(3, width, 3), nn.Hardtanh(inplace=True), nn.AdaptiveAvgPool2d(1)
        )
        self.wide = nn.Linear(width, 2 * width)
        self.first, self.second = nn.Linear(width, width), nn.Linear(width, width)
        self.second.weight = self.first.weight
        self.out = nn.Linear(width, CLASSES)

    def forward(self, images: Tensor) -> Tensor:
        x, gate = self.wide(self.into(images).flatten(1)).chunk(2, dim=1)
        x = x * gate
        logits: Tensor = self.out(self.second(torch.tanh(self.first(x))))
        return logits


def _convolutional(width: int) -> nn.Sequential:
    into = [
        nn.Conv2d(3, width, 3),
        nn.BatchNorm2d(width),
        nn.ReLU(inplace=True),
        nn.Dropout(0.2),
        nn.MaxPool2d(2),
    ]
    return nn.Sequential(*into, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, CLASSES))


def _with(
    net: nn.Module, optimizer: Callable[..., torch.optim.Optimizer], **options: float
) -> Made:
    return net, nn.CrossEntropyLoss(), optimizer(net.parameters(), lr=0.01, **options)


def _frozen(width: int) -> Made:
    """Return a training with a frozen layer, and a criterion that keeps more than plain cross-entropy."""
    net = _convolutional(width)
    for parameter in net[0].parameters():
        parameter.requires_grad_(False)
    return net, nn.CrossEntropyLoss(label_smoothing=0.1), torch.optim.AdamW(net.parameters())


class Plans:
    """`rig.plans`."""

    def __init__(self, random: np.random.Generator) -> None:
        self._random = random

    def small(self) -> dict[str, MakeTraining]:
        """Return what is planned, by name; each of a secret width, one of them made in eval()."""
        width, other, third, fourth = (
            int(it) for it in self._random.permutation(np.arange(5, 40))[:4]
        )
        return {
            "plain SGD": lambda: _with(_convolutional(width), torch.optim.SGD),
            "SGD with momentum": lambda: _with(
                _convolutional(other).eval(), torch.optim.SGD, momentum=0.9
            ),
            "AdamW and a frozen layer": lambda: _frozen(third),
            "Adam and a shared weight": lambda: _with(Tied(fourth), torch.optim.Adam),
        }

    def resnet50(self) -> MakeTraining:
        make: Callable[[], nn.Module] = lambda: models.resnet50(weights=None, num_classes=CLASSES)  # noqa: E731 its type
        return lambda: _with(make(), torch.optim.SGD, momentum=0.9)

    def measured(
        self, make_training: MakeTraining, batch_size: int, image_size: int
    ) -> dict[str, int]:
        """Return the bytes of a real step, by what they are."""
        model, criterion, optimizer = make_training()
        images, labels = (
            torch.zeros(batch_size, 3, image_size, image_size),
            torch.zeros(batch_size, dtype=torch.int64),
        )
        weights, buffers = list(model.parameters()), list(model.buffers())
        with Saved([*weights, *buffers, images, labels]) as kept:
            loss = criterion(model.train()(images), labels)
        loss.backward()
        optimizer.step()
        planned = {
            "parameters": _bytes(weights),
            "buffers": _bytes(buffers),
            "gradients": _bytes(weight.grad for weight in weights),
            "optimizer": _bytes(
                tensor for state in optimizer.state.values() for tensor in state.values()
            ),
            "activations": kept.bytes,
            "batch": _bytes([images, labels]),
        }
        return {**planned, "total": sum(planned.values())}

    def mistaken(
        self, make_training: MakeTraining, batch_size: int, image_size: int
    ) -> dict[str, dict[str, int]]:
        """Return the bytes that usual mistakes find, by what the bytes are and by the mistake."""
        model, criterion, optimizer = make_training()
        images = torch.zeros(batch_size, 3, image_size, image_size)
        labels = torch.zeros(len(images), dtype=torch.long)
        weights, buffers = list(model.parameters()), list(model.buffers())
        there = [*weights, *buffers, images, labels]

        def kept(lose: Callable[[], object], known: Sequence[Tensor] = there) -> list[Tensor]:
            saved: list[Tensor] = []

            def keep(tensor: Tensor) -> Tensor:
                saved.append(tensor.detach())
                return saved[-1]

            with saved_tensors_hooks(keep, lambda tensor: tensor):
                lose()
            elsewhere = {_key(tensor) for tensor in known}
            return [tensor for tensor in saved if _key(tensor) not in elsewhere]

        def loss() -> Tensor:
            lost: Tensor = criterion(model(images), labels)
            return lost

        model.eval()
        in_eval = _bytes(kept(loss))
        model.train()
        right = kept(loss)
        activations = {
            "tensors": sum(tensor.nbytes for tensor in right),
            "views": sum({_key(tensor): tensor.nbytes for tensor in right}.values()),
            "batch": _bytes(kept(loss, [*weights, *buffers])),
            "weights": _bytes(kept(loss, [images, labels])),
            "all": _bytes(kept(loss, [])),
            "eval": in_eval,
            "criterion": _bytes(kept(lambda: nn.functional.cross_entropy(model(images), labels))),
            "model": _bytes(kept(lambda: model(images))),
        }
        loss().backward()
        optimizer.step()
        state = [it for each in optimizer.state.values() for it in each.values()]
        return {
            "parameters": {
                "address": weights[-1].nbytes,
                "numbers": sum(it.numel() for it in weights),
                "trainable": _bytes(it for it in weights if it.requires_grad),
                "names": sum(it.nbytes for _, it in model.named_parameters(remove_duplicate=False)),
            },
            "buffers": {"counts": _bytes(it for it in buffers if it.dim())},
            "gradients": {"frozen": _bytes(weights), "none": 0},
            "optimizer": {"none": 0, "counts": _bytes(it for it in state if it.dim())},
            "activations": activations,
            "batch": {"images": images.nbytes, "int32": images.nbytes + labels.nbytes // 2},
        }


def _bytes(values: Iterable[Any]) -> int:
    """Add up the storages of the tensors among some values, each once."""
    tensors = [value for value in values if isinstance(value, Tensor)]
    return sum({_key(tensor): tensor.untyped_storage().nbytes() for tensor in tensors}.values())


def _key(tensor: Tensor) -> int:
    """Return what tells storages apart, as long as both are there."""
    return tensor.untyped_storage().data_ptr()
