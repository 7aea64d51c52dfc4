"""Small networks for part 7: some with norms that can be folded into a convolution, some with norms that cannot.

network = make_folding(kind, seed)      a kind of CAN_BE_FOLDED or CANNOT_BE_FOLDED, in eval(), weights by the seed
network(torch.randn(4, 3, 8, 8))
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

CHANNELS = 6


def conv(channels: int = CHANNELS, **options: Any) -> nn.Conv2d:
    """Make a convolution that keeps height and width, unless the options say otherwise."""
    return nn.Conv2d(channels, CHANNELS, 3, **{"padding": 1, **options})


def norm(**options: Any) -> nn.BatchNorm2d:
    """Make a norm whose eps counts."""
    return nn.BatchNorm2d(CHANNELS, eps=1e-2, **options)


def block(first: int = CHANNELS) -> nn.Sequential:
    """Make a convolution and its norm."""
    return nn.Sequential(conv(first), norm())


def four() -> dict[str, nn.Module]:
    """Make two convolutions and two norms; the first norm stands behind the second convolution."""
    return {"conv1": conv(3), "norm2": norm(), "conv2": conv(), "norm1": norm()}


Layers = Callable[[], dict[str, nn.Module]]
Forward = Callable[[Any, Tensor], Any]


def _two_results(net: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    """Call both convolutions before the norm that stands behind each of them."""
    x = net.first(x)
    one, other = net.conv1(x), net.conv2(x)
    return net.norm(one), net.last(net.norm(other))


def _product(net: Any, x: Tensor) -> Tensor:
    one, other = net.conv1(x), net.conv2(x)
    return net.norm(one) * net.norm(other)


CAN_BE_FOLDED: dict[str, tuple[Layers, Forward]] = {
    "a convolution, a norm, a ReLU": (
        lambda: {"conv": conv(3), "norm": norm(), "relu": nn.ReLU()},
        lambda net, x: net.relu(net.norm(net.conv(x))),
    ),
    "a convolution without a bias": (
        lambda: {"conv": conv(3, bias=False), "norm": norm()},
        lambda net, x: net.norm(net.conv(x)),
    ),
    "groups, stride and dilation": (
        lambda: {"conv": conv(3, groups=3, stride=2, dilation=2, padding=2), "norm": norm()},
        lambda net, x: net.norm(net.conv(x)).relu(),
    ),
    "a norm without weights": (
        lambda: {"conv": conv(3), "norm": norm(affine=False)},
        lambda net, x: net.norm(net.conv(x)).relu(),
    ),
    "layers registered in another order": (
        four,
        lambda net, x: net.norm2(net.conv2(net.norm1(net.conv1(x)).relu())),
    ),
    "a norm behind two convolutions": (
        lambda: {"conv1": conv(3), "conv2": conv(3, bias=False), "norm": norm()},
        _product,
    ),
    "blocks in blocks": (
        lambda: {"first": nn.Sequential(block(3), nn.ReLU()), "rest": nn.ModuleList([block(), block()])},
        lambda net, x: net.rest[1](net.rest[0](net.first(x)).relu()),
    ),
    "four pairs and nothing else": (
        lambda: {
            "first": block(3),
            "conv1": conv(),
            "conv2": conv(bias=False),
            "norm": norm(affine=False),
            "last": block(),
        },
        _two_results,
    ),
}
CANNOT_BE_FOLDED: dict[str, tuple[Layers, Forward]] = {
    "a result that is used twice": (
        lambda: {"conv": conv(3), "norm": norm()},
        lambda net, x: net.norm(y := net.conv(x)) + y,
    ),
    "a convolution that two norms share": (
        four,
        lambda net, x: net.norm1(net.conv1(x)) + net.norm2(net.conv1(0.5 * x)),
    ),
    "a convolution that is also called without a norm": (
        four,
        lambda net, x: net.norm1(net.conv1(x)) + net.conv1(0.5 * x),
    ),
    "a norm before the convolution": (
        four,
        lambda net, x: net.conv2(net.norm1(net.conv1(x).relu())),
    ),
    "a ReLU between": (
        four,
        lambda net, x: net.norm1(net.conv1(x).relu()),
    ),
    "a norm with the statistics of the batch": (
        lambda: {"conv": conv(3), "norm": norm(track_running_stats=False)},
        lambda net, x: net.norm(net.conv(x)),
    ),
}


class Network(nn.Module):
    """Layers by name, and a function that calls them."""

    def __init__(self, layers: dict[str, nn.Module], run: Forward) -> None:
        """Register the layers in their order."""
        super().__init__()
        for name, layer in layers.items():
            self.add_module(name, layer)
        self.run = run

    def forward(self, x: Tensor) -> Any:
        """Return what the function makes of images (batch, 3, height, width)."""
        return self.run(self, x)


def make_folding(kind: str, seed: int = 0) -> Network:
    """Return a network of this kind in eval(), whose weights and statistics follow from the seed."""
    layers, run = (CAN_BE_FOLDED | CANNOT_BE_FOLDED)[kind]
    random = torch.Generator().manual_seed(seed)
    network = Network(layers(), run).eval()
    for module in network.modules():
        parts = [*module.named_parameters(recurse=False), *module.named_buffers(recurse=False)]
        for name, tensor in parts:
            if name in ("running_var", "weight") and isinstance(module, nn.BatchNorm2d):
                nn.init.uniform_(tensor, 0.3, 1.5, generator=random)
            elif tensor.is_floating_point():
                nn.init.normal_(tensor, 0, 0.3, generator=random)
    return network
