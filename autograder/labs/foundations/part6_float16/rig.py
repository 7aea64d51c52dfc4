"""What the probes of part 6 work with: dtypes by name, a small training, and the dtypes that it computes in."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from autograder.worker import rig as worker
from autograder.worker.rigs.operands import Operands
from autograder.worker.rigs.returned import flat

PRODUCTS = ("aten::mm", "aten::addmm")
LOSSES = ("aten::_log_softmax",)


@dataclass
class Training:
    """A network, its batches, and what it is trained with."""

    model: nn.Module
    batches: list[tuple[Tensor, Tensor]]
    make_optimizer: Callable[[Any], torch.optim.Optimizer]
    graphs: int = 0
    """Of so many losses the graphs were alive at one time, at most."""
    _losses: list[weakref.ref[Tensor]] = field(default_factory=list)

    def criterion(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the loss, and count those whose graphs are alive."""
        loss = nn.functional.cross_entropy(outputs, targets)
        self._losses.append(weakref.ref(loss))
        kept = [it() for it in self._losses]
        alive = sum(it is not None and it.grad_fn is not None for it in kept)
        self.graphs = max(self.graphs, alive)
        return loss

    def weights(self) -> Any:
        """Return all parameters, flat."""
        return flat([it.detach() for it in self.model.parameters()])

    def dtypes(self) -> list[str]:
        """Name the dtypes of the parameters and of their gradients."""
        kept = [it for each in self.model.parameters() for it in (each, each.grad)]
        return sorted({str(it.dtype).removeprefix("torch.") for it in kept if it is not None})


class Rig(worker.Rig):
    """The toolkit of this part's probes."""

    @staticmethod
    def computed(train: Callable[[], Any]) -> tuple[Any, list[str], list[str]]:
        """Return what a training returns, and the dtypes of its matrix products and of its losses."""
        with Operands(PRODUCTS) as products, Operands(LOSSES) as losses:
            returned = train()
        noted = [it.values()["calls"] for it in (products, losses)]
        return returned, *(
            sorted({it["dtype"] for call in calls for it in call}) for calls in noted
        )

    @staticmethod
    def dtype(name: str) -> torch.dtype:
        """Return a dtype by its name."""
        dtype: torch.dtype = getattr(torch, name)
        return dtype

    def small_training(self, factors: list[float], lr: float) -> Training:
        """Return a training whose loss is *factor* times as large in each batch.

        Of a factor below 0, only the first layer's gradients overflow in float16: by a column of inputs that is 0
        elsewhere, so that its weights stay 0.
        """
        first = nn.Linear(16, 32)
        model = nn.Sequential(first, nn.Tanh(), nn.Linear(32, 4)).to(self.device)
        with torch.no_grad():
            for it in model.parameters():
                it.copy_(
                    self.tensor(self.random.normal(size=tuple(it.shape)) / it.shape[-1] ** 0.5)
                )
            first.weight[:, 0] = 0.0
        batches = []
        for factor in factors:
            drawn = self.random.normal(size=(32, 16))
            drawn[:, 0] = 3e4 if factor < 0 else 0.0
            inputs = self.tensor(drawn)
            right = self.tensor(self.random.integers(0, 4, 32), "int64")
            batches.append((inputs, abs(factor) * nn.functional.one_hot(right, 4).float()))
        return Training(model, batches, partial(torch.optim.SGD, lr=lr, momentum=0.9))
