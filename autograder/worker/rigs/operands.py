"""Notes what an operator is given: dtype and layout of its matrices, and which other operators ran."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from torch import Tensor

from autograder.worker.rigs.counters import tensors_in
from autograder.worker.rigs.eager import Watch
from autograder.worker.rigs.returned import dtype_name

MOST = 64  # calls that are noted


class Operands(Watch):
    """Watches for some operators."""

    def __init__(self, operators: Collection[str]) -> None:
        """None was called yet."""
        super().__init__()
        self._operators = operators
        self._calls: list[list[dict[str, str]]] = []
        self._others: dict[str, None] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Note, then compute."""
        name = func._schema.name
        if name in self._operators:
            matrices = [it for it in tensors_in((args, kwargs)) if it.dim() > 1]
            self._calls.append([_described(it) for it in matrices])
        elif not func.is_view:
            self._others[name] = None
        return func(*args, **(kwargs or {}))

    def values(self) -> dict[str, Any]:
        """Return the matrices of each call, and the names of other operators."""
        return {"calls": self._calls[:MOST], "others": list(self._others)[:MOST]}


def _described(matrix: Tensor) -> dict[str, str]:
    rows, columns = matrix.stride()[-2:]
    layout = "row-major" if columns == 1 else "column-major" if rows == 1 else "strided"
    return {"dtype": dtype_name(matrix), "layout": layout}
