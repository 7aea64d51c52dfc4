"""Reads what student code returned: any object at all goes in, plain numbers, text and arrays come out."""

from __future__ import annotations

import contextlib
import math
import os
import stat
from pathlib import Path, PurePath
from typing import Any

import numpy as np
import torch

from autograder.model import Kind

LONGEST = 4096  # items of a list, as lab.list_of declares
WIDEST = 200  # characters of a cell or a label
LONGEST_NAME = 60  # characters of a class


class BadReturn(Exception):  # noqa: N818 it names what happened, and students read the text
    """A student's function returned something that cannot be read; the text is for the student."""

    def __init__(self, text: str, kind: Kind = "bad return") -> None:
        """Keep the text, and what kind of end it is for the supervisor."""
        super().__init__(text)
        self.kind = kind


class Returned(dict[str, Any]):
    """The dict that a student's function returned; a missing name is said in words."""

    def __init__(self, function: str, value: Any) -> None:
        if not isinstance(value, dict):
            raise BadReturn(f"{function} returned {_kind(value)} instead of a dict", _other(value))
        super().__init__({text(name): value[name] for name in list(value)[:64]})
        self._function = function

    def __missing__(self, name: str) -> Any:
        """Say which name is missing and which are there."""
        raise BadReturn(
            f"{self._function} returned no '{name}'; it returned {', '.join(self) or 'an empty dict'}",
            "missing key",
        )


def number(value: Any) -> float | None:
    """Return a finite number, or None for whatever is none."""
    if value is None or isinstance(value, str | bytes | bool):
        return None
    try:
        result = float(value.detach() if isinstance(value, torch.Tensor) else value)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        return None
    return result if math.isfinite(result) else None


def series(value: Any, name: str) -> np.ndarray[Any, Any]:
    """Return a list of numbers or a 1-D tensor as float64; NaN and infinity are kept."""
    if isinstance(value, torch.Tensor):
        value = value.detach().double().cpu().numpy()
    if isinstance(value, np.ndarray):
        if value.ndim != 1:
            raise BadReturn(
                f"'{name}' has {value.ndim} dimensions; return a list of floats or a 1-D tensor",
                "wrong type",
            )
        value = value[: LONGEST + 1].tolist()
    if not isinstance(value, list | tuple) or len(value) > LONGEST:
        raise BadReturn(
            f"'{name}' is {_kind(value)}; return a list of floats or a 1-D tensor, one number per batch",
            "wrong type",
        )
    return np.array([_any_number(item, name) for item in value], dtype=np.float64)


def flat(value: Any, dtype: torch.dtype = torch.float64) -> np.ndarray[Any, Any]:
    """Return the numbers of a tensor, or of a tuple, list or dict of tensors, as one array of their own."""
    if isinstance(value, torch.Tensor):
        return value.detach().to(dtype, copy=True).cpu().flatten().numpy()
    if isinstance(value, dict):
        value = list(value.values())
    if (
        isinstance(value, list | tuple)
        and value
        and all(isinstance(item, torch.Tensor) for item in value[:LONGEST])
    ):
        return np.concatenate([flat(item, dtype) for item in value[:LONGEST]])
    kind: Kind = "no return" if value is None else "bad return"
    raise BadReturn(f"{_kind(value)} was returned where a tensor is asked for", kind)


def cell(value: Any) -> float | str | None:
    """Return one value of a table: a number, text, True or False as text, or None for nothing and NaN."""
    if isinstance(value, str | bool | np.bool_):
        return text(value)
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return str(float(value))
    as_number = number(value)
    return text(f"<{_type(value)}>") if as_number is None else as_number


def rows(value: Any, function: str) -> list[dict[str, float | str | None]]:
    """Return a list of dicts as rows of plain cells."""
    if not isinstance(value, list | tuple) or not all(isinstance(row, dict) for row in value):
        raise BadReturn(
            f"{function} returned {_kind(value)}; return a list of dicts, one per row",
            _other(value),
        )
    return [{text(name): cell(row[name]) for name in list(row)[:64]} for row in value[:64]]


def text(value: Any, width: int = WIDEST) -> str:
    """Return printable text of bounded length, a plain str."""
    return "".join(c if c.isprintable() or c == "\n" else " " for c in str(value)[:width])


def file_bytes(path: Path, most: int) -> np.ndarray[Any, Any]:
    """Return the first bytes of a file that student code wrote, or none; a link is no file."""
    data = b""
    with contextlib.suppress(OSError):
        opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(opened, "rb") as file:
            if stat.S_ISREG(os.fstat(opened).st_mode):
                data = file.read(most)
    return np.frombuffer(data, dtype=np.uint8)


def file_text(path: Path) -> str:
    """Return the beginning of a file that student code wrote, or nothing."""
    data = file_bytes(path, 4000).tobytes()
    return text(data.decode("utf-8-sig", "replace").replace("\r\n", "\n"), 4000)


def dtype_name(tensor: torch.Tensor) -> str:
    """Return the dtype of a tensor as a word: float32."""
    return str(tensor.dtype).removeprefix("torch.")


def word(value: Any) -> str:
    """Return a word of a command line as text, with its type if it is none."""
    kind = "" if isinstance(value, str | PurePath) else f" ({type(value).__name__}, and no text)"
    return f"{text(value)}{kind}"


def _any_number(value: Any, name: str) -> float:
    try:
        return float(value.detach() if isinstance(value, torch.Tensor) else value)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        raise BadReturn(f"an entry of '{name}' is {_kind(value)}, and must be a number") from None


def _other(value: Any) -> Kind:
    return "no return" if value is None else "wrong type"


def _type(value: Any) -> str:
    return text(type(value).__name__, LONGEST_NAME)


def _kind(value: Any) -> str:
    name = _type(value)
    return "None" if value is None else f"{'an' if name[:1] in 'aeiouAEIOU' else 'a'} {name}"
