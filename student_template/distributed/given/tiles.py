"""Triton, and its interpreter where there is no GPU: a kernel then runs on a CPU, one program after another.

from given.tiles import jit, tl
"""

from __future__ import annotations

import os
from types import SimpleNamespace

import numpy as np
import torch

INTERPRETED = not torch.cuda.is_available()
if INTERPRETED:
    os.environ["TRITON_INTERPRET"] = "1"  # read when a kernel is decorated

try:
    import triton.language as tl
    from triton import JITFunction, jit
except ImportError:  # macOS, Windows: a file with a kernel can be imported all the same
    tl = SimpleNamespace(constexpr=None)

    def jit(kernel):
        """Stand in for triton.jit: a kernel that cannot be launched."""
        return SimpleNamespace(fn=kernel, __name__=kernel.__name__)


HAS_TRITON = hasattr(tl, "load")


def interpret_all() -> None:
    """Let Triton's own kernels, such as tl.zeros, be interpreted, even if something imported Triton before us."""
    from triton.runtime.interpreter import InterpretedFunction

    for home in (tl, tl.standard, tl.tensor):
        for name, function in list(vars(home).items()):
            if isinstance(function, JITFunction):
                setattr(home, name, InterpretedFunction(function.fn))


def show_what_is_left_out() -> None:
    """Let a load with a mask and without `other` give NaN where the mask is False: on a GPU it may give anything."""
    from triton.runtime import interpreter

    load = interpreter.InterpreterBuilder.create_masked_load

    def masked(builder, ptrs, mask, other, *how):
        kind = ptrs.get_element_ty()
        bits = kind.primitive_bitwidth
        if other is None and kind.is_floating() and bits >= 16:
            # numpy has no bfloat16, so the interpreter keeps its bits
            number = (0x7FC0, np.uint16) if kind.is_bf16() else (np.nan, f"float{bits}")
            other = interpreter.TensorHandle(np.full(ptrs.data.shape, *number), kind)
        return load(builder, ptrs, mask, other, *how)

    interpreter.InterpreterBuilder.create_masked_load = masked


if HAS_TRITON and INTERPRETED:
    interpret_all()
    show_what_is_left_out()
