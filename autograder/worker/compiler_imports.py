"""What torch.compile imports when it is first called, up to half a second: for workers that will call it.

Nothing is compiled ahead: a process that has run an operator or autograd cannot be forked safely.
"""

from __future__ import annotations

import contextlib
import importlib

import torch

NEEDS = (
    "torch._inductor.compile_fx",
    "torch.distributed.tensor.experimental",
    "torch.export._trace",
    "sympy.tensor.tensor",
)


def imported() -> None:
    """Import it all; what another version of torch calls otherwise is imported by whoever needs it."""
    for name in NEEDS:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    torch._dynamo.list_backends()


imported()
