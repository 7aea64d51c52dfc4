"""Recorders: contexts around student code that note what it did. They read and never judge.

Dtypes       in which precision operators ran          Waits      where the host waited for the device
ScalerCalls  the order of calls on a GradScaler        Figures    what saved figures show
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from types import FrameType
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from autograder.worker.nets import Loader
from autograder.worker.returned import text

# Operator -> what readers call it. Autocast works above this level, so the dtypes seen are those that computed.
MODEL_OPS = {
    "aten::convolution": "convolution",
    "aten::_convolution": "convolution",
    "aten::mkldnn_convolution": "convolution",
    "aten::cudnn_convolution": "convolution",
    "aten::addmm": "matrix product",
    "aten::mm": "matrix product",
    "aten::bmm": "matrix product",
    "aten::linear": "matrix product",
    "aten::_softmax": "softmax",
}
LOSS_OPS = {"aten::_log_softmax": "loss", "aten::nll_loss_forward": "loss"}


class Dtypes(TorchDispatchMode):
    """Counts operators by kind and dtype, inside the model and inside the criterion; and the parameters' dtypes."""

    def __init__(self, model: nn.Module, criterion: nn.Module) -> None:
        """Operators elsewhere, such as a softmax for the accuracy, do not count."""
        super().__init__()  # type: ignore[no-untyped-call]
        self.counts: dict[str, Counter[str]] = defaultdict(Counter)
        self._ops: dict[str, str] = {}
        for module, ops in ((model, MODEL_OPS), (criterion, LOSS_OPS)):
            module.register_forward_pre_hook(lambda *_, ops=ops: self._watch(ops))
            module.register_forward_hook(lambda *_: self._watch({}))
        model.register_forward_pre_hook(lambda module, _: self._parameters(module))

    def _watch(self, ops: dict[str, str]) -> None:
        self._ops = ops

    def _parameters(self, model: nn.Module) -> None:
        self.counts["parameters"].update(_short(p.dtype) for p in model.parameters())

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Count, then compute."""
        kind = self._ops.get(func._schema.name)
        if kind:
            first = next(a for a in args if isinstance(a, Tensor))
            self.counts[kind][_short(first.dtype)] += 1
        return func(*args, **(kwargs or {}))

    def values(self) -> dict[str, dict[str, int]]:
        """Return {kind: {dtype: count}}."""
        return {kind: dict(counts) for kind, counts in self.counts.items()}


def _short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


SPOKEN = {
    "__bool__": "bool() or if",
    "__int__": "int()",
    "__float__": "float()",
    "__index__": "int()",
    "__repr__": "print()",
    "__format__": "print()",
    "__array__": "numpy",
}
WAITS = {"item", "tolist", "cpu", "numpy", *SPOKEN}
GLUE = tuple(str(Path(torch.__file__).parent / name) for name in ("_tensor.py", "overrides.py", "utils/_contextlib.py"))
TORCH = str(Path(torch.__file__).parent)


class Always:
    """Stands in for a loader where there are no batches: everything counts."""

    step: int | None = 0


class Waits(TorchFunctionMode):
    """Notes each call that brings a tensor's value to the host while a batch is being worked on.

    The call belongs to the innermost frame that is not glue: waits that torch itself decides on (a GradScaler looking
    for infinities, an optimizer) are nobody's mistake.
    """

    def __init__(self, loader: Loader | Always, file: str) -> None:
        """Watch calls that come from *file*, directly or through a library."""
        super().__init__()
        self.steps: dict[tuple[int, str], set[int]] = defaultdict(set)
        """(line, call) -> the batches in which it waited."""
        self._loader, self._file = loader, file

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Note, then compute."""
        name = getattr(func, "__name__", "")
        if name in WAITS:
            self._note(SPOKEN.get(name, f".{name}()"))
        return func(*args, **(kwargs or {}))

    def __enter__(self) -> Self:
        """Watch torch.cuda.synchronize as well."""
        self._synchronize = torch.cuda.synchronize

        @wraps(self._synchronize)
        def synchronize(*args: Any, **kwargs: Any) -> None:
            self._note("torch.cuda.synchronize()")
            self._synchronize(*args, **kwargs)

        torch.cuda.synchronize = synchronize
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *error: object) -> None:
        """Stop watching."""
        torch.cuda.synchronize = self._synchronize
        super().__exit__(*error)  # type: ignore[no-untyped-call]

    def _note(self, call: str) -> None:
        if self._loader.step is None:
            return
        frames = [f for f in _stack() if f.f_code.co_filename != __file__ and not f.f_code.co_filename.startswith(GLUE)]
        if frames[0].f_code.co_filename.startswith(TORCH):
            return
        line = next((f.f_lineno for f in frames if f.f_code.co_filename == self._file), None)
        if line is not None:
            self.steps[line, call].add(self._loader.step)

    def values(self) -> list[dict[str, Any]]:
        """Return who waited in how many batches, the most frequent first."""
        ranked = sorted(self.steps.items(), key=lambda item: (-len(item[1]), item[0]))
        return [{"line": line, "call": call, "batches": sorted(steps)} for (line, call), steps in ranked[:20]]


def _stack() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back


class ScalerCalls:
    """Notes scale, backward, unscale_, step and update in the order in which student code causes them."""

    def __init__(self, scaler: torch.amp.GradScaler, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        """Watch these three; calls that the scaler makes itself do not count."""
        self.events: list[str] = []
        self._depth, self._scaled = 0, False
        for name in ("scale", "unscale_", "step", "update"):
            setattr(scaler, name, self._watched(name, getattr(scaler, name)))
        model.register_forward_hook(lambda *args: self._passed(args[2]))
        optimizer.register_step_pre_hook(lambda *_: self._note("optimizer.step"))

    def _watched(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        def watched(*args: Any, **kwargs: Any) -> Any:
            self._note(name)
            self._depth += 1
            try:
                result = method(*args, **kwargs)
            finally:
                self._depth -= 1
            if name == "scale" and isinstance(result, Tensor) and result.requires_grad:
                result.register_hook(lambda _: self._scaled_backward())
            return result

        return watched

    def _note(self, name: str) -> None:
        if self._depth == 0 and len(self.events) < 1000:
            self.events.append(name)

    def _passed(self, output: Any) -> None:
        if isinstance(output, Tensor) and output.requires_grad:
            output.register_hook(lambda _: self._backward())

    def _scaled_backward(self) -> None:
        self._scaled = True

    def _backward(self) -> None:
        self._note("backward" if self._scaled else "backward of the unscaled loss")
        self._scaled = False


class Figures:
    """Notes what every saved matplotlib figure shows: per panel its words and the values drawn."""

    def __init__(self) -> None:
        """Start with no figure."""
        self.panels: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        """Watch Figure.savefig, which plt.savefig calls."""
        from matplotlib.figure import Figure

        self._savefig = Figure.savefig

        def savefig(figure: Any, *args: Any, **kwargs: Any) -> Any:
            self.panels += [_panel(axis, figure) for axis in figure.axes[:16]]
            return self._savefig(figure, *args, **kwargs)

        Figure.savefig = savefig  # type: ignore[method-assign, assignment]
        return self

    def __exit__(self, *_: object) -> None:
        """Stop watching."""
        from matplotlib.figure import Figure

        Figure.savefig = self._savefig  # type: ignore[method-assign]


def _panel(axis: Any, figure: Any) -> dict[str, Any]:
    words = [axis.get_ylabel(), axis.get_xlabel(), axis.get_title(), figure.get_suptitle()]
    values = [value for bars in axis.containers for value in _plain(getattr(bars, "datavalues", []))]
    values += [value for line in axis.lines for value in _plain(line.get_ydata())]
    values += [value for dots in axis.collections for value in _plain([y for _, y in dots.get_offsets()])]
    return {"label": text(" ".join(filter(None, words[:3]))), "title": text(words[3]), "values": values[:64]}


def _plain(values: Any) -> list[float]:
    import numpy as np

    found = np.asarray(values, dtype=float).ravel()[:64]
    return [float(value) for value in found[np.isfinite(found)]]
