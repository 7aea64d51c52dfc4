"""The network that parts 1 and 2 train."""

from __future__ import annotations

from itertools import pairwise

from torch import nn


class Net(nn.Sequential):
    """Linear layers with tanh between them: vectors of `features` numbers go in, scores of `classes` come out."""

    def __init__(self, features: int = 64, width: int = 128, layers: int = 4, classes: int = 10) -> None:
        widths = [features, *[width] * (layers - 1), classes]
        parts: list[nn.Module] = []
        for before, after in pairwise(widths):
            parts += [nn.Linear(before, after), nn.Tanh()]
        super().__init__(*parts[:-1])
