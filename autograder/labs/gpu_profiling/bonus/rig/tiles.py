"""Notes what a function launches in Triton, in its interpreter or on a GPU, and which operators compute beside it."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from autograder.worker.rigs.answers import changed, copies
from autograder.worker.rigs.returned import text

MOST = 64  # names that are told


class Tiles(TorchDispatchMode):
    """A context: `launches` are the names of kernels, `operators` those of torch outside of them."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.launches: list[str] = []
        self.operators: list[str] = []
        self._written: list[Tensor] = []
        self._kinds = kinds()
        self._inside = False

    def __enter__(self) -> Self:
        self._own = [kind.run for kind in self._kinds]
        for kind, run in zip(self._kinds, self._own, strict=True):
            kind.run = self._noted(run)
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)  # type: ignore[no-untyped-call]
        for kind, run in zip(self._kinds, self._own, strict=True):
            kind.run = run

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if not self._inside and len(self.operators) < MOST:
            self.operators.append(text(func.overloadpacket._qualified_op_name, 60))
        return func(*args, **(kwargs or {}))

    def wrote(self, result: Any) -> bool:
        """Whether a launch wrote what was returned, and nobody after it."""
        return isinstance(result, Tensor) and any(
            it.shape == result.shape and torch.equal(it, result) for it in self._written
        )

    def _noted(self, run: Any) -> Any:
        def noted(kernel: Any, *args: Any, warmup: bool = False, **options: Any) -> Any:
            if warmup:
                return run(kernel, *args, warmup=warmup, **options)
            self._inside = True
            try:
                given = (*args, *options.values())
                tensors = {str(i): it for i, it in enumerate(given) if isinstance(it, Tensor)}
                before = copies(tensors)
                result = run(kernel, *args, warmup=warmup, **options)
                written = changed(tensors, before)
                self._written = [tensors[name].detach().clone() for name in written]
            finally:
                self._inside = False
            self.launches = [*self.launches, text(getattr(kernel, "__name__", "a kernel"), 60)][
                :MOST
            ]
            return result

        return noted


def kinds() -> list[Any]:
    """Return the classes of kernels; none where there is no Triton."""
    try:
        from triton.runtime.interpreter import InterpretedFunction
        from triton.runtime.jit import JITFunction
    except ImportError:
        return []
    return [InterpretedFunction, JITFunction]


BIASES = {"a single window": 20.0, "nothing above zero": -100.0}
"""So that the only number is none that rounding makes much of, and that ReLU has something to do."""
Layer = tuple[Any, Any, Any]
"""Images, weight, bias."""


def pooled(images: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Return what the fused kernel is to compute, by three operators."""
    convolved = torch.nn.functional.conv2d(images, weight, bias, padding=1)
    return torch.nn.functional.max_pool2d(convolved.relu(), 2)


def layers(random: np.random.Generator) -> dict[str, Layer]:
    """Draw images of several sizes, and what is to be computed of them; the largest needs more than one block."""
    low, high = int(2 * random.integers(2, 4) + 1), int(2 * random.integers(4, 6) + 1)
    shapes = {  # batch, channels, filters, height, width; small: the interpreter takes milliseconds for a pixel's load
        "a single window": (1, 1, 1, 2, 3),
        "two of everything": (2, 2, 2, 8, int(2 * random.integers(5, 7))),
        "odd sizes": (1, 1, 1, low, high),
        "more numbers than a block has": (1, 1, 1, 36, 34),
        "nothing above zero": (1, 1, 1, 6, 6),
    }
    return {
        case: _layer(random, *shape, bias=BIASES.get(case, 1.0)) for case, shape in shapes.items()
    }


def _layer(
    random: np.random.Generator,
    batch: int,
    channels: int,
    filters: int,
    height: int,
    width: int,
    *,
    bias: float,
) -> Layer:
    images, weight = (
        random.normal(size=(batch, channels, height, width)),
        random.normal(size=(filters, channels, 3, 3)),
    )
    return images, weight, random.normal(size=filters) + bias
