"""Collects what a student's function returned, case by case, in the form of `checks.outputs`: tensors and plain values.

A plain value is a number, a word in quotes, or a list or dict of them, whose entries are cases of their own.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils._pytree import tree_leaves

from autograder.worker.raised import PLAIN, in_words
from autograder.worker.rigs.returned import dtype_name, flat, text

MOST = 64  # tensors of one call
ENTRIES = 1024  # of a list or dict of plain values
ROOM = 48_000  # bytes of all entries that are noted; a worker may send 64 KiB of values
FORM = 60  # bytes that the form of an entry takes beside its name


class Answers:
    """What a function returned for a list of cases: the form of each, and all numbers in one array."""

    def __init__(self, *, exact: bool, staged: Path) -> None:
        """*exact* answers were computed in float64, and say which dtype was asked for instead of their own."""
        self._exact, self._staged = exact, staged
        self._cases: list[dict[str, Any]] = []
        self._numbers: list[np.ndarray[Any, Any]] = []
        self._room = ROOM

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
        if _is_plain(value) and self._has_room(case, value):
            self._add_entries(case, value)
            return
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
            value = value.item() if isinstance(value, np.generic) else value
            shape, dtype = [], repr(text(value)) if type(value) is str else self.named(value)
            self._numbers.append(np.full(1, _number(value)))  # as many as the shape says
        self._cases.append({"case": case, "shape": shape, "dtype": dtype})

    def _has_room(self, case: str, value: Any) -> bool:
        """Take the room that the entries need; who returns more than anybody asked for has them not noted."""
        self._room -= len(tree_leaves(value)) * (len(case) + FORM)
        if self._room < 0 and self._exact:
            raise ValueError(f"{case}: the right answers have too many entries; ask for fewer")
        return self._room >= 0

    def _add_entries(self, case: str, value: Any) -> None:
        """Note a list by its length and its entries, a dict by its names and what they hold."""
        if isinstance(value, dict):
            self.add(f"{case}, names", ", ".join(sorted(map(text, value))))
            entries = [(text(name), each) for name, each in value.items()]
        else:
            self.add(f"{case}, number of entries", len(value))
            entries = [(f"entry {at}", each) for at, each in enumerate(value, 1)]
        for name, each in entries:
            self.add(f"{case}, {name}", each)

    def named(self, value: Any) -> str:
        """Name what was returned, or say what was raised."""
        if isinstance(value, Exception):
            return f"raised {in_words(value, self._staged)}"
        return "nothing" if value is None else text(type(value).__name__)

    def values(self) -> dict[str, Any]:
        return {
            "cases": self._cases,
            "numbers": np.concatenate([np.zeros(0), *self._numbers]),
        }


def _several(value: Any) -> bool:
    """Whether this is a tuple, list or dict with tensors in it."""
    leaves = tree_leaves(value) if isinstance(value, list | tuple | dict) else []
    return len(leaves) <= MOST and any(isinstance(it, torch.Tensor) for it in leaves)


def _is_plain(value: Any) -> bool:
    """Whether this is a tuple, list or dict without any tensor in it."""
    leaves = tree_leaves(value) if isinstance(value, list | tuple | dict) else [None] * ENTRIES
    return len(leaves) < ENTRIES and not any(isinstance(it, torch.Tensor) for it in leaves)


def _number(value: Any) -> float:
    try:
        return float(value) if type(value) in (bool, int, float) else np.nan
    except OverflowError:
        return np.nan


def copies(given: dict[str, Any]) -> dict[str, Any]:
    """Return copies of what may change of some arguments, tensors and plain values, to compare with later."""
    tensors = {
        name: value.detach().clone()
        for name, value in given.items()
        if isinstance(value, torch.Tensor)
    }
    return tensors | {name: copy.deepcopy(it) for name, it in given.items() if _of_words(it)}


def changed(given: dict[str, Any], before: dict[str, Any]) -> list[str]:
    """Return the names of arguments that are no longer what they were; NaN equals NaN."""
    return [name for name, old in before.items() if not _alike(given[name], old)]


def told_to_ask(given: dict[str, Any]) -> list[str]:
    """Return the names of plain arguments that need a gradient: they came without."""
    tensors = {name: it for name, it in given.items() if isinstance(it, torch.Tensor)}
    return [f"{name}.requires_grad" for name, it in tensors.items() if it.requires_grad]


def _of_words(value: Any) -> bool:
    """Whether this is a list or dict of numbers and words alone."""
    return _is_plain(value) and all(isinstance(it, (*PLAIN, str)) for it in tree_leaves(value))


def _alike(value: Any, old: Any) -> bool:
    if isinstance(old, torch.Tensor):
        return torch.equal(_bits(value), _bits(old))
    return bool(value == old)


def _bits(tensor: torch.Tensor) -> torch.Tensor:
    return (
        tensor.detach().clone(memory_format=torch.contiguous_format).reshape(-1).view(torch.uint8)
    )
