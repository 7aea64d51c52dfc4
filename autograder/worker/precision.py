"""Sees in which precision float32 is multiplied, at each operator: a setting may be put back before a call returns."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from functools import partial
from operator import attrgetter
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

FULL = ("", "none", "ieee", "highest", "strict", "any")
NAMES = (
    "backends.fp32_precision",
    "backends.mkldnn.matmul.fp32_precision",
    "backends.mkldnn.conv.fp32_precision",
    "backends.cuda.matmul.fp32_precision",
)
MODE = "ONEDNN_DEFAULT_FPMATH_MODE"
SETTINGS: dict[str, Callable[[], Any]] = {
    "torch.get_float32_matmul_precision()": torch.get_float32_matmul_precision,
    **{f"torch.{name}": partial(attrgetter(name), torch) for name in NAMES},
    MODE: lambda: os.environ.get(MODE, "").lower(),
}


class Precision(TorchDispatchMode):
    """`lowered` says which settings were below full precision while it was active."""

    def __init__(self) -> None:
        """Start with none."""
        super().__init__()  # type: ignore[no-untyped-call]
        self.lowered: dict[str, None] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Look, then compute."""
        self.lowered |= dict.fromkeys(_lowered())
        return func(*args, **(kwargs or {}))


def _lowered() -> list[str]:
    found = []
    for name, read in SETTINGS.items():
        with contextlib.suppress(
            RuntimeError, AttributeError
        ):  # torch refuses some once old and new names were used
            value = str(read())
            if value not in FULL:
                found.append(f"{name} is {value}")
    return found
