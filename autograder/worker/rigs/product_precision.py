"""Sees in which precision float32 is multiplied, at each operator: a setting may be put back before a call returns."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from operator import attrgetter
from typing import Any

import torch

from autograder.worker.rigs.eager import Watch

FULL = {"", "0", "none", "ieee", "highest", "strict", "any", "False"}
"""What says that products are not rounded, in one interface or another."""
MODES = (
    "ONEDNN_DEFAULT_FPMATH_MODE",
    "DNNL_DEFAULT_FPMATH_MODE",
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
    "NVIDIA_TF32_OVERRIDE",
)
"""Of the environment; libraries read them at their first product."""
NAMES = (
    "fp32_precision",
    "mkldnn.matmul.fp32_precision",
    "mkldnn.conv.fp32_precision",
    "mkldnn.rnn.fp32_precision",
    "cuda.matmul.fp32_precision",
    "cuda.matmul.allow_tf32",
    "cudnn.allow_tf32",
    "cudnn.conv.fp32_precision",
    "cudnn.rnn.fp32_precision",
)


def _variable(name: str) -> str:
    return os.environ.get(name, "").lower()


SETTINGS: dict[str, Callable[[], Any]] = {
    "torch.get_float32_matmul_precision()": torch.get_float32_matmul_precision,
    **{f"torch.backends.{name}": partial(attrgetter(name), torch.backends) for name in NAMES},
    **{name: partial(_variable, name) for name in MODES},
}


def _read(setting: Callable[[], Any]) -> str:
    try:
        return str(setting())
    except Exception as error:  # torch refuses some once old and new names were used
        return type(error).__name__


def _settings() -> dict[str, str]:
    return {name: _read(setting) for name, setting in SETTINGS.items()}


AT_FIRST = _settings()
"""In the process that workers are forked from, where no student's code ever ran."""


class Precision(Watch):
    """Looks at the settings at each operation, and once more at the end."""

    def __init__(self) -> None:
        """None was lowered."""
        super().__init__()
        self._lowered: dict[str, str] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Look, then compute."""
        self.values()
        return func(*args, **(kwargs or {}))

    def values(self) -> list[str]:
        """Say which settings were lowered, and what they were."""
        self._lowered |= {
            name: now for name, now in _settings().items() if now not in {AT_FIRST[name], *FULL}
        }
        return [f"{name} is {now}" for name, now in self._lowered.items()]
