"""What the probes of part 10 work with: models whose parameters are drawn, and batches for them."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

from autograder.worker import rig as worker
from autograder.worker.rigs.compilers import Compiler

VOCABULARY = 97
WIDTH, CLASSES = 16, 4
ROWS = 24  # of a batch
# Of a LookingNet's blocks: after the first two, activations are large, and after the third, small.
SPREAD = (3.0, 5.0, 0.5)


class Rig(worker.Rig):
    """The toolkit of this part's probes."""

    def language(self, blocks: int = 2) -> nn.Module:
        """Return a TinyLM with dropout: norms are drawn from 0.5 to 1.5, and other weights anew."""
        model: nn.Module = self.given("TinyLM")(VOCABULARY, blocks=blocks, dropout=0.2)
        with torch.no_grad():
            for weight in model.parameters():
                shape = tuple(weight.shape)
                drawn = self.random.normal(size=shape) * 1.5 / shape[-1] ** 0.5
                if len(shape) == 1:
                    drawn = self.random.uniform(0.5, 1.5, shape)
                weight.copy_(self.tensor(drawn))
        return model.to(self.device)

    @staticmethod
    def drop_alike(number: int) -> None:
        """Let dropout draw the same on both sides."""
        torch.manual_seed(number)

    def tokens(self, *shape: int) -> Tensor:
        """Draw token ids."""
        return self.tensor(self.random.integers(0, VOCABULARY, shape), "int64")

    def capturing(self) -> Compiler:
        """Return the recording backend; of the slow version it counts what is captured, and builds nothing."""
        compiler = self.compiler()
        if self.side != "student":
            compiler._aot = _as_it_is
        return compiler

    def stepping(self, student: ModuleType, compiler: Compiler, steps: int) -> Any:
        """Let the student make a step; return the model, and what takes it, with a new batch each time."""
        model = self._looking()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        step = student.make_step(model, optimizer, nn.CrossEntropyLoss(), backend=compiler)
        batches = iter([self._batch() for _ in range(steps)])
        return model, lambda: step(*next(batches))

    def _looking(self) -> nn.Module:
        """Return a LookingNet which decides alike in every step: each decision is far from its limit."""
        model: Any = self.given("LookingNet")(WIDTH, CLASSES)
        with torch.no_grad():
            for layer, spread in zip((*model.blocks, model.last), (*SPREAD, 1.0), strict=True):
                drawn = self.random.normal(size=tuple(layer.weight.shape)) * spread / WIDTH**0.5
                layer.weight.copy_(self.tensor(drawn))
                layer.bias.copy_(self.tensor(self.random.normal(size=len(layer.bias)) * 0.1))
        trained: nn.Module = model.to(self.device)
        return trained

    def _batch(self) -> tuple[Tensor, Tensor]:
        """Draw a batch for a LookingNet."""
        x = self.tensor(self.random.normal(size=(ROWS, WIDTH)))
        return x, self.tensor(self.random.integers(0, CLASSES, ROWS), "int64")

    @staticmethod
    def gradients(model: nn.Module) -> dict[str, Tensor | None]:
        """Return the gradients by the names of their parameters, however these are wrapped."""
        named = model.named_parameters()
        return {name.replace("_orig_mod.", ""): it.grad for name, it in named}


def _as_it_is(graph: Any, _: Any) -> Any:
    return graph.forward
