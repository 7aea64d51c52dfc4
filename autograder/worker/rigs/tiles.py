"""Notes what a function launches in Triton, in its interpreter or on a GPU, and which operators compute beside it."""

from __future__ import annotations

from typing import Any, Self

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from autograder.worker.rigs.case_results import changed, copies
from autograder.worker.rigs.returned import text

MOST = 64  # names that are told


class Tiles(TorchDispatchMode):
    """A context: `launches` are the names of kernels, `operators` those of torch outside of them."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.launches: list[str] = []
        self.operators: list[str] = []
        self._written: list[Tensor] = []
        self._kinds = kinds()
        self._inside = False

    def __enter__(self) -> Self:
        self._own = [kind.run for kind in self._kinds]
        for kind, run in zip(self._kinds, self._own, strict=True):
            kind.run = self._noted(run)
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)  # type: ignore[no-untyped-call]
        for kind, run in zip(self._kinds, self._own, strict=True):
            kind.run = run

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if not self._inside and len(self.operators) < MOST:
            self.operators.append(text(func.overloadpacket._qualified_op_name, 60))
        return func(*args, **(kwargs or {}))

    def wrote(self, result: Any) -> bool:
        """Whether the last launch wrote what was returned, in any shape or as one of several in a row."""
        if not isinstance(result, Tensor) or not result.numel():
            return False
        numbers = result.detach().flatten()
        sizes = [it for it in self._written if it.numel() % len(numbers) == 0]
        return any(bool((it.reshape(-1, len(numbers)) == numbers).all(1).any()) for it in sizes)

    def _noted(self, run: Any) -> Any:
        def noted(kernel: Any, *args: Any, warmup: bool = False, **options: Any) -> Any:
            if warmup:
                return run(kernel, *args, warmup=warmup, **options)
            self._inside = True
            try:
                given = (*args, *options.values())
                tensors = {str(i): it for i, it in enumerate(given) if isinstance(it, Tensor)}
                before = copies(tensors)
                result = run(kernel, *args, warmup=warmup, **options)
                written = changed(tensors, before)
                self._written = [tensors[name].detach().clone() for name in written]
            finally:
                self._inside = False
            self.launches = [*self.launches, text(getattr(kernel, "__name__", "a kernel"), 60)][
                :MOST
            ]
            return result

        return noted


def kinds() -> list[Any]:
    """Return the classes of kernels; none where there is no Triton."""
    try:
        from triton.runtime.interpreter import InterpretedFunction
        from triton.runtime.jit import JITFunction
    except ImportError:
        return []
    return [InterpretedFunction, JITFunction]
