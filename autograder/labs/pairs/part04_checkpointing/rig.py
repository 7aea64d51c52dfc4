"""What the probes of part 4 work with: layers and a language model whose weights are drawn, and one training pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from autograder.worker import rig as worker
from autograder.worker.rigs.returned import BadReturn

WIDTH = 64


class Products(nn.Module):
    """One product of each kind, with something cheap behind it."""

    def __init__(self, random: torch.Generator) -> None:
        """Draw four matrices."""
        super().__init__()
        drawn = torch.randn(4, WIDTH, WIDTH, generator=random) / WIDTH**0.5
        self.weights = nn.ParameterList(list(drawn))
        self.bias = nn.Parameter(torch.randn(WIDTH, generator=random))

    def forward(self, x: Tensor) -> Tensor:
        """Multiply four times."""
        first, second, third, fourth = self.weights
        x = torch.addmm(self.bias, torch.mm(x, first).tanh(), second).tanh()[None]
        x = torch.baddbmm(self.bias, torch.bmm(x, third[None]).tanh(), fourth[None])
        return x[0].tanh()


def layers_of_products(count: int, seed: int) -> nn.Sequential:
    """Return a stack of them."""
    random = torch.Generator().manual_seed(seed)
    return nn.Sequential(*(Products(random) for _ in range(count)))


class Positions:
    """A cache that is joined anew for each token."""

    def __init__(self) -> None:
        """Begin with none."""
        self._kept: list[Tensor] = []

    @property
    def length(self) -> int:
        """How many there are."""
        return self._kept[0].shape[2] if self._kept else 0

    def append(self, *latest: Tensor) -> list[Tensor]:
        """Return the keys and the values of all positions so far."""
        pairs = zip(self._kept, latest, strict=True)
        self._kept = [torch.cat(pair, dim=2) for pair in pairs] if self._kept else list(latest)
        return self._kept


class Rig(worker.Rig):
    """The toolkit of this part's probes."""

    def layers(self, count: int, dropout: float) -> Any:
        """Return a stack of layers."""
        return self._drawn(self.given("make_layers")(count, WIDTH, 2 * WIDTH, dropout))

    def language_model(self, blocks: int) -> Any:
        """Return a TinyLM with dropout."""
        return self._drawn(self.given("TinyLM")(blocks=blocks, dropout=0.1 + 0.2 * self._share()))

    def tokens(self, *shape: int) -> Tensor:
        """Return whole numbers that a TinyLM knows."""
        return self.tensor(self.random.integers(0, 97, shape), "int64")

    def rows_of(self, count: int) -> Tensor:
        """Return the input of a stack."""
        return self.tensor(self.random.normal(size=(count, WIDTH)))

    def _share(self) -> float:
        return float(self.random.random())

    def _drawn(self, net: nn.Module) -> nn.Module:
        """Draw all parameters: no norm is 1, and no bias 0."""
        with torch.no_grad():
            for name, it in net.named_parameters():
                numbers = self.random.normal(size=tuple(it.shape)) / max(1, it.shape[-1]) ** 0.5
                if it.dim() == 1:
                    numbers = self.random.uniform(0.5, 1.5, tuple(it.shape))
                    numbers -= 1.0 * name.endswith("bias")
                it.copy_(self.tensor(numbers))
        return net.to(self.device)

    def pass_through(
        self, answers: Any, case: str, net: nn.Module, run: Callable[[Tensor], Tensor], x: Tensor
    ) -> None:
        """Go forward and backward under one seed; note the result, and the gradient of each parameter and of x."""
        above = self.rows_of(len(x))

        def both() -> Tensor:
            torch.manual_seed(self.seed)
            result = run(x)
            if result.requires_grad:
                (result * above).sum().backward()
            return result

        answers.ask(case, both)
        inputs = {"x": x} if x.requires_grad else {}
        for name, it in {**inputs, **dict(net.named_parameters())}.items():
            answers.add(f"{case}, gradient of {name}", it.grad)

    def training(self, model: Any, ids: Tensor) -> tuple[Any, Any, Callable[[], None]]:
        """Return a training of the model: its optimizer, and what takes a step."""
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        torch.manual_seed(self.seed)

        def step() -> None:
            optimizer.zero_grad()
            model(ids, labels=ids).loss.backward()
            optimizer.step()

        return model, optimizer, step

    @staticmethod
    def generates(model: Any, ids: Tensor) -> None:
        """Refuse a model that has other logits when tokens come one by one, with a cache for each block."""
        model.eval()
        caches = [Positions() for _ in model.blocks]
        with torch.no_grad():
            whole = model(ids).logits
            pieces = [model(it, caches=caches).logits for it in ids.split(1, dim=1)]
        model.train()
        if not torch.allclose(torch.cat(pieces, dim=1), whole, rtol=1e-3, atol=1e-3):
            raise BadReturn(
                "with caches, logits differ from those without: your forward must hand caches on"
            )

    @staticmethod
    def unchanged(model: nn.Module, names: list[str], returned: Any) -> None:
        """Refuse another model than the one that was handed over, and other names in its state_dict."""
        if returned is not model:
            raise BadReturn(
                "checkpoint_blocks returned a different object and must return the model it got"
            )
        if others := [name for name in model.state_dict() if name not in names]:
            raise BadReturn(
                f"names in state_dict changed: {others[0]}; set block.forward, and wrap no block"
            )
