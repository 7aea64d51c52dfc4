"""A network with a weight that is used twice, a layer that is frozen, and one that is optional."""

import torch
from torch import nn


class Branches(nn.Module):
    """Maps (n, 6) to (n, 4). The side branch runs only where it is asked for; without it, it has no gradient."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(6, 12)
        self.again = nn.Linear(6, 12, bias=False)
        self.again.weight = self.first.weight  # one parameter under two names
        self.frozen = nn.Linear(12, 12).requires_grad_(False)
        self.second = nn.Linear(12, 12)
        self.side = nn.Linear(6, 6)
        self.last = nn.Linear(12, 4)
        self.register_buffer("shift", torch.randn(6))

    def forward(self, inputs, side=True):
        """Compute; with *side*, half of the hidden numbers are changed by the other half."""
        hidden = torch.tanh(self.first(inputs + self.shift))
        hidden = torch.tanh(self.second(self.frozen(hidden)) + self.again(inputs))
        if side:
            low, high = hidden.chunk(2, dim=1)
            hidden = torch.cat([low + self.side(high), high], dim=1)
        return self.last(hidden)
