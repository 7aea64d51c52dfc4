"""What the probes of part 10 work with: models whose parameters are drawn, and batches for them."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from autograder.worker import rig as worker

VOCABULARY = 97
WIDTH, CLASSES = 16, 4
# Of a LookingNet's blocks: after the first and the third, activations are large; after the second, small.
SPREAD = (3.0, 0.3, 6.0)


class Rig(worker.Rig):
    """The toolkit of this part's probes."""

    def language(self, blocks: int = 2) -> nn.Module:
        """Return a TinyLM with dropout: norms are drawn from 0.5 to 1.5, and other weights anew."""
        model: nn.Module = self.given("TinyLM")(VOCABULARY, blocks=blocks, dropout=0.2)
        with torch.no_grad():
            for parameter in model.parameters():
                shape = tuple(parameter.shape)
                drawn = self.random.normal(size=shape) * 1.5 / shape[-1] ** 0.5
                if len(shape) == 1:
                    drawn = self.random.uniform(0.5, 1.5, shape)
                parameter.copy_(self.tensor(drawn))
        return model.to(self.device)

    @staticmethod
    def drop_alike(number: int) -> None:
        """Let dropout draw the same on both sides."""
        torch.manual_seed(number)

    def tokens(self, *shape: int) -> Tensor:
        """Draw token ids."""
        return self.tensor(self.random.integers(0, VOCABULARY, shape), "int64")

    def looking(self) -> nn.Module:
        """Return a LookingNet which decides alike in every step: each decision is far from its limit."""
        model: Any = self.given("LookingNet")(WIDTH, CLASSES)
        with torch.no_grad():
            for layer, spread in zip((*model.blocks, model.last), (*SPREAD, 1.0), strict=True):
                drawn = self.random.normal(size=tuple(layer.weight.shape)) * spread / WIDTH**0.5
                layer.weight.copy_(self.tensor(drawn))
                layer.bias.copy_(self.tensor(self.random.normal(size=len(layer.bias)) * 0.1))
        trained: nn.Module = model.to(self.device)
        return trained

    def batch(self, rows: int) -> tuple[Tensor, Tensor]:
        """Draw a batch for a LookingNet."""
        x = self.tensor(self.random.normal(size=(rows, WIDTH)))
        return x, self.tensor(self.random.integers(0, CLASSES, rows), "int64")

    @staticmethod
    def gradients(model: nn.Module) -> dict[str, Tensor | None]:
        """Return the gradients by the names of their parameters, however these are wrapped."""
        named = model.named_parameters()
        return {name.replace("_orig_mod.", ""): it.grad for name, it in named}
