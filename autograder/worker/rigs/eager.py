"""Watches operations of student code; what that has compiled runs as it was written."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import Any, Self

import torch
from torch.utils._python_dispatch import TorchDispatchMode


def without_compiler() -> AbstractContextManager[Any]:
    """Let what is compiled run as it was written, if anybody has loaded the compiler."""
    if "torch._dynamo" in sys.modules:
        stance: AbstractContextManager[Any] = torch.compiler.set_stance("force_eager")
        return stance
    return nullcontext()


class Watch(TorchDispatchMode):
    """A mode under which torch does not compile: a function that insists on one graph would raise an exception."""

    def __init__(self) -> None:
        """Nothing is watched yet."""
        super().__init__()  # type: ignore[no-untyped-call]
        self._stances: list[ExitStack] = []

    def __enter__(self) -> Self:
        """Run without the compiler."""
        stack = ExitStack()
        stack.enter_context(without_compiler())
        self._stances.append(stack)
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *error: object) -> None:
        """Let it be compiled again."""
        super().__exit__(*error)  # type: ignore[no-untyped-call]
        self._stances.pop().close()
