"""Collects the tensors that a student's function returned, case by case, in the form of `checks.outputs`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils._pytree import tree_leaves

from autograder.worker.raised import in_words
from autograder.worker.rigs.returned import dtype_name, flat, number, text

MOST = 64  # results of one call


class Answers:
    """What a function returned for a list of cases: the form of each, and all numbers in one array."""

    def __init__(self, *, exact: bool, staged: Path) -> None:
        """*exact* answers were computed in float64, and say which dtype was asked for instead of their own."""
        self._exact, self._staged = exact, staged
        self._cases: list[dict[str, Any]] = []
        self._numbers: list[np.ndarray[Any, Any]] = []

    def ask(
        self,
        case: str,
        function: Callable[..., Any],
        *arguments: Any,
        asked: str = "",
    ) -> None:
        """Call the student's function; what it raises is its answer to this case, and to no other."""
        self.add(case, self.tried(function, *arguments), asked)

    def tried(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return what the student's function returns, or the exception that it raises."""
        try:
            return function(*arguments)
        except Exception as error:
            handed_out = isinstance(error, NotImplementedError) and not str(error)
            if self._exact or handed_out:
                raise
            return error

    def add(self, case: str, value: Any, asked: Any = "") -> None:
        """Note what was returned for *case*, several results one by one.

        *asked* is the dtype that belongs to it, or what was returned with the dtypes that belong to it.
        """
        if _several(value):
            named = value.items() if isinstance(value, dict) else enumerate(value)
            for name, each in named:
                place = name if isinstance(value, dict) else name + 1
                self.add(
                    f"{case}, result {text(place)}",
                    each,
                    asked[name] if _several(asked) else asked,
                )
            return
        if isinstance(value, torch.Tensor):
            belongs = dtype_name(asked) if isinstance(asked, torch.Tensor) else asked
            shape = list(value.shape)
            dtype = (belongs if self._exact else "") or dtype_name(value)
            self._numbers.append(flat(value))
        else:
            shape, dtype = [], self._named(value)
            told = number(value * 1) if type(value) in (bool, int, float) else None
            # As many as the shape says.
            self._numbers.append(np.full(1, np.nan if told is None else told))
        self._cases.append({"case": case, "shape": shape, "dtype": dtype})

    def _named(self, value: Any) -> str:
        if isinstance(value, Exception):
            return f"raised {in_words(value, self._staged)}"
        return "nothing" if value is None else text(type(value).__name__)

    def seen(self) -> dict[str, Any]:
        return {
            "cases": self._cases,
            "numbers": np.concatenate([np.zeros(0), *self._numbers]),
        }


def _several(value: Any) -> bool:
    """Whether this is a tuple, list or dict with tensors in it."""
    leaves = tree_leaves(value) if isinstance(value, list | tuple | dict) else []
    return len(leaves) <= MOST and any(isinstance(it, torch.Tensor) for it in leaves)


def copies(tensors: dict[str, Any]) -> dict[str, torch.Tensor]:
    """Return copies of the tensors among some arguments, to compare them with later."""
    return {
        name: value.detach().clone()
        for name, value in tensors.items()
        if isinstance(value, torch.Tensor)
    }


def changed(tensors: dict[str, Any], before: dict[str, torch.Tensor]) -> list[str]:
    """Return the names of tensors that are no longer what they were; NaN equals NaN."""
    return [
        name for name, old in before.items() if not torch.equal(_bits(tensors[name]), _bits(old))
    ]


def _bits(tensor: torch.Tensor) -> torch.Tensor:
    return (
        tensor.detach().clone(memory_format=torch.contiguous_format).reshape(-1).view(torch.uint8)
    )
