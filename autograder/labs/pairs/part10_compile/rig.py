"""What the probes of part 10 work with: models whose parameters are drawn, and batches for them."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from autograder.worker import rig as worker
from autograder.worker.rigs.compilers import Compiler

VOCABULARY = 97
WIDTH, CLASSES = 16, 4
ROWS = 24  # of a batch
# Of a LookingNet's blocks: after the first two, activations are large, and after the third, small.
SPREAD = (3.0, 5.0, 0.5)


class _Flops(TorchDispatchMode):
    """FlopCounterMode without its hooks on modules, which a graph's tensors do not take."""

    def __init__(self) -> None:
        """Begin with none."""
        super().__init__()  # type: ignore[no-untyped-call]
        self.flops = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if count := flop_registry.get(func.overloadpacket):
            self.flops += count(*args, **(kwargs or {}), out_val=result)
        return result


class Counting(Compiler):
    """The recording backend, which also adds up the FLOPs of the forward passes of its graphs."""

    flops = 0

    def _builder(self, kind: str) -> Callable[[Any, Any], Any]:
        build = super()._builder(kind)

        def counting(graph: Any, inputs: Any) -> Any:
            def forward(*arguments: Any) -> Any:
                with _Flops() as counted:
                    result = graph.forward(*arguments)
                self.flops += counted.flops * (kind == "forward")
                return result

            return build(SimpleNamespace(graph=graph.graph, forward=forward), inputs)

        return counting


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
    def flops_of_mlps(model: Any, tokens: int) -> int:
        """Return what the MLPs compute for so many tokens: they have no biases."""
        weights = [it for block in model.blocks for it in block.mlp.parameters()]
        return sum(2 * tokens * int(weight.numel()) for weight in weights)

    @staticmethod
    def drop_alike(number: int) -> None:
        """Let dropout draw the same on both sides."""
        torch.manual_seed(number)

    def tokens(self, *shape: int) -> Tensor:
        """Draw token ids."""
        return self.tensor(self.random.integers(0, VOCABULARY, shape), "int64")

    def capturing(self) -> Counting:
        """Return the recording backend; of the slow version it counts what is captured, and builds nothing."""
        compiler = Counting(self.clock, None, {}, 0.0)
        if self.side != "student":
            compiler._aot = _as_it_is
        return compiler

    def stepping(self, student: ModuleType, compiler: Compiler, steps: int) -> Any:
        """Let the student make a step; return the model, and what takes it, with a new batch each time.

        Gradients are there before the first step, so that a step has to begin with zero_grad.
        """
        model = self._looking()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        step = student.make_step(model, optimizer, nn.CrossEntropyLoss(), backend=compiler)
        for weight in model.parameters():
            weight.grad = torch.ones_like(weight)
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
