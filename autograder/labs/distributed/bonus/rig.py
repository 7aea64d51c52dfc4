"""What the probes of the bonus work with: what Triton launches, whether it is there, and versions to measure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from torch import Tensor

from autograder.worker import rig as worker
from autograder.worker.rigs.tiles import Tiles, kinds


class Rig(worker.Rig):
    """The toolkit of this part's probes."""

    tiles = Tiles

    @staticmethod
    def tools() -> list[str]:
        """Return what there is here of what a kernel needs."""
        return ["Triton"] * bool(kinds())

    def scripted_version(
        self, seconds: Mapping[int, float], operators: int, repeats: int
    ) -> Callable[..., Any]:
        """Return a function like add_norm, of other operators, which takes these seconds by its rows."""
        call = self.scripted_call(seconds, {}, repeats)

        def version(x: Tensor, residual: Tensor, weight: Tensor, eps: float = 1e-6) -> Any:
            total = normed = x + residual
            for _ in range(operators):
                normed = normed.exp()
            return call(normed) * weight, total

        return version
