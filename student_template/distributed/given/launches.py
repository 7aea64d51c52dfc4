"""What a call launches, and the bytes that this reads and writes: operators of torch, and kernels of Triton."""

from __future__ import annotations

from typing import Any, Self

from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

ALLOCATES = {"empty", "new_empty", "empty_like", "empty_strided"}


class Launches(TorchDispatchMode):
    """A context: `count` operators that compute, and kernels of Triton; `bytes` of all that they take and give.

    Views and allocations do not count. Each operator that counts is one launch on a GPU, or close to it.
    """

    def __init__(self) -> None:
        """Begin with nothing."""
        super().__init__()
        self.count = self.bytes = 0
        self._inside = False

    def __enter__(self) -> Self:
        """Watch."""
        self._kinds = _kinds()
        self._own = [kind.run for kind in self._kinds]
        for kind, run in zip(self._kinds, self._own, strict=True):
            kind.run = self._noted(run)
        super().__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        """Stop watching."""
        super().__exit__(*error)
        for kind, run in zip(self._kinds, self._own, strict=True):
            kind.run = run

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Compute, then count."""
        result = func(*args, **(kwargs or {}))
        if not (self._inside or func.is_view or func.overloadpacket.__name__ in ALLOCATES):
            self._note((args, kwargs, result))
        return result

    def _noted(self, run: Any) -> Any:
        def noted(kernel: Any, *args: Any, warmup: bool = False, **options: Any) -> Any:
            if not warmup and not self._inside:
                self._note((args, options))
            before, self._inside = self._inside, True
            try:
                return run(kernel, *args, warmup=warmup, **options)
            finally:
                self._inside = before

        return noted

    def _note(self, operands: Any) -> None:
        self.count += 1
        self.bytes += sum(it.nbytes for it in tree_leaves(operands) if isinstance(it, Tensor))


def _kinds() -> list[Any]:
    """Return the classes of kernels; none where there is no Triton."""
    try:
        from triton.runtime.interpreter import InterpretedFunction
        from triton.runtime.jit import JITFunction
    except ImportError:
        return []
    return [InterpretedFunction, JITFunction]


def saved_bytes(function: Any, *inputs: Tensor) -> int:
    """Call the function once; return the bytes that it keeps for the backward pass, beside the inputs."""
    inputs = tuple(it.detach().requires_grad_() for it in inputs)
    there = {it.untyped_storage().data_ptr() for it in inputs}
    kept = {}

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in there:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor.detach()  # the tensor itself would form a cycle that nothing frees

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        results = function(*inputs)  # kept until the end: freed memory is used again
    del results
    return sum(kept.values())
