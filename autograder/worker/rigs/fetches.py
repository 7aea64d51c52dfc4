"""Sees where student code brings values to the host: notes who waits there, or lets the wait take scripted time.

Waits  which line waited for the device, in which batches      Queue  work the host has to wait for when it fetches
GPU    what waits for a GPU, and says whether there is one     played  a GPU for student code, where there is none
"""

from __future__ import annotations

import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from types import FrameType
from typing import Any, Self

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from autograder.worker.rigs.eager import Watch
from autograder.worker.rigs.hooks import Hook
from autograder.worker.rigs.nets import Loader

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
MAKERS = {"tensor", "as_tensor", "asarray", "new_tensor"}
"""They read a list of tensors value by value, in no operator; a tensor alone stays where it is."""
TORCH = str(Path(torch.__file__).parent)
GLUE = tuple(
    f"{TORCH}/{name}"
    for name in (
        "_tensor.py",
        "overrides.py",
        "utils/_contextlib.py",
        "_compile.py",
        "_dynamo/eval_frame.py",
    )
)


class Gpu:
    """Stands in for what waits for a GPU and what says whether there is one, whatever name student code gives them.

    It is installed before the student's file is imported, as the clock is.
    """

    def __init__(self) -> None:
        self.played = False
        self.listeners: list[Callable[[str], None]] = []
        self._real: list[tuple[Any, str, Callable[..., Any]]] = []

    def install(self) -> None:
        for module in (torch.cuda, torch.accelerator):
            for name, other in (
                ("synchronize", self._waits),
                ("is_available", self._is_there),
            ):
                self._real.append((module, name, getattr(module, name)))
                setattr(module, name, other(getattr(module, name)))

    def uninstall(self) -> None:
        while self._real:
            setattr(*self._real.pop())

    def _waits(self, real: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(real)
        def synchronize(*args: Any, **kwargs: Any) -> None:
            for listener in self.listeners:
                listener("torch.cuda.synchronize()")
            if not self.played:
                real(*args, **kwargs)

        return synchronize

    def _is_there(self, real: Callable[[], bool]) -> Callable[[], bool]:
        return wraps(real)(lambda: (self.played and not _asked_by_torch()) or real())


GPU = Gpu()


class _Moved(TorchFunctionMode):
    """Computes on the CPU what is asked of a GPU; a tensor tells student code that it is there."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        asked = (
            getattr(getattr(func, "__self__", None), "__name__", "") if name == "__get__" else ""
        )
        if asked in ("device", "is_cuda") and not _asked_by_torch():
            return asked == "is_cuda" or torch.device("cuda")
        if name in ("cuda", "pin_memory"):
            return args[0]
        if func is torch.device:
            return func(*args, **(kwargs or {}))
        named = {key: _on_cpu(value) for key, value in (kwargs or {}).items()}
        return func(*map(_on_cpu, args), **named)


def _on_cpu(value: Any) -> Any:
    is_gpu = isinstance(value, torch.device | str) and str(value).startswith("cuda")
    return torch.device("cpu") if is_gpu else value


@contextmanager
def played() -> Iterator[torch.device]:
    """Give student code a GPU where there is none: its tensors stay on the CPU, in threads that it starts as well."""
    begin = vars(threading.Thread)["_bootstrap_inner"]

    def begin_moved(thread: threading.Thread) -> None:
        with _Moved():
            begin(thread)

    GPU.played, threading.Thread._bootstrap_inner = True, begin_moved  # type: ignore[attr-defined]
    try:
        with _Moved():
            yield torch.device("cuda")
    finally:
        GPU.played, threading.Thread._bootstrap_inner = False, begin  # type: ignore[attr-defined]


class Fetches(TorchFunctionMode):
    """Sees each call that brings a tensor's value to the host: methods by name, other routes by what they run."""

    def __init__(self) -> None:
        super().__init__()
        self._values = _Values(self)
        self.inside = False
        """A call that was seen is under way."""

    def fetched(self, call: str) -> None:
        """Note *call*; it runs afterwards."""
        raise NotImplementedError

    def counts(self, name: str) -> bool:
        """Whether a function of torch of this name brings a value to the host."""
        return name in WAITS

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if name in MAKERS and any(map(_lists_tensors, [*args, *(kwargs or {}).values()])):
            self.fetched(f"{name}() of a list of tensors")
        # Told the classes, it looks on a CPU alone.
        free = name == "one_hot" and len(args) + len(kwargs or {}) > 1
        if not free and not self.counts(name):
            return func(*args, **(kwargs or {}))
        if not free:
            self.fetched(SPOKEN.get(name, f".{name}()"))
        self.inside = True
        try:
            return func(*args, **(kwargs or {}))
        finally:
            self.inside = False

    def __enter__(self) -> Self:
        """Watch what waits for a GPU as well."""
        GPU.listeners.append(self.fetched)
        self._values.__enter__()
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *error: object) -> None:
        GPU.listeners.remove(self.fetched)
        super().__exit__(*error)  # type: ignore[no-untyped-call]
        self._values.__exit__(*error)


class _Values(Watch):
    """Sees the operator that every route to a single value ends in, whatever the method was called."""

    def __init__(self, owner: Fetches) -> None:
        super().__init__()
        self._owner = owner

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func._schema.name == "aten::_local_scalar_dense" and not self._owner.inside:
            self._owner.fetched("reads a tensor's value")
        return func(*args, **(kwargs or {}))


class Always:
    """Stands in for a loader where there are no batches: everything counts."""

    step: int | None = 0


class Waits(Fetches):
    """Notes what brings a tensor's value to the host while a batch is being worked on.

    The call belongs to the innermost frame that is not glue: waits that torch itself decides on (a GradScaler looking
    for infinities, an optimizer) are nobody's mistake.
    """

    def __init__(self, loader: Loader | Always, file: str) -> None:
        """Watch calls that come from *file*, directly or through a library."""
        super().__init__()
        self.steps: dict[tuple[int, str], set[int]] = defaultdict(set)
        """(line, call) -> the batches in which it waited."""
        self._loader, self._file = loader, file

    def fetched(self, call: str) -> None:
        """Note the line and the batch."""
        if self._loader.step is None:
            return
        frames = [
            f
            for f in _stack()
            if f.f_code.co_filename != __file__ and not f.f_code.co_filename.startswith(GLUE)
        ]
        if frames[0].f_code.co_filename.startswith(TORCH):
            return
        line = next(
            (f.f_lineno for f in frames if f.f_code.co_filename == self._file),
            None,
        )
        if frames[0].f_code.co_filename != self._file:
            call = f"{call} inside of a call"
        if line is not None:
            self.steps[line, call].add(self._loader.step)

    def values(self) -> list[dict[str, Any]]:
        """Return who waited in how many batches, the most frequent first."""
        ranked = sorted(self.steps.items(), key=lambda item: (-len(item[1]), item[0]))
        return [
            {"line": line, "call": call, "batches": sorted(steps)}
            for (line, call), steps in ranked[:20]
        ]


class Queue(Fetches):
    """Lets each forward pass leave work to a device that runs by itself, as a GPU does: a fetch waits for all of it."""

    def __init__(
        self,
        model: nn.Module,
        loader: Loader,
        seconds: float,
        wait: Callable[[float], None],
        copying: float = 0.0,
    ) -> None:
        """The pass of each batch leaves *seconds*; *wait* lets the clock go on.

        A copy of images takes *copying* seconds of the host, as from memory that is not pinned.
        """
        super().__init__()
        self._copying, self.copied = copying, 0.0
        self._loader = loader
        self._wait = wait
        self._seconds = 0.0
        # A second pass over a batch, for its accuracy say, is free.
        self._left = iter([seconds] * len(loader))
        model.register_forward_hook(Hook(lambda *_: self._leave()))

    def _leave(self) -> None:
        self._seconds += next(self._left, 0.0)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if self._loader.step is not None and _moves_images(name, args, kwargs or {}):
            self._wait(self._copying)
            self.copied += self._copying
        return super().__torch_function__(func, types, args, kwargs)

    def counts(self, name: str) -> bool:
        """Between batches a tensor may be moved without waiting; after the epoch it is moved to be read."""
        return super().counts(name) or (name in ("to", "copy_") and self._loader.step is None)

    def fetched(self, _: str) -> None:
        self._wait(self._seconds)
        self._seconds = 0.0


def _lists_tensors(value: Any) -> bool:
    if not isinstance(value, list | tuple):
        return False
    return any(isinstance(it, torch.Tensor) or _lists_tensors(it) for it in value)


def _moves_images(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether a call moves images to a device."""
    options = [*args[1:], *kwargs.values()]
    placed = any(isinstance(it, torch.device | str) for it in options)
    moves = name == "cuda" or (name == "to" and placed)
    return moves and args[0].dim() == 4


def _asked_by_torch() -> bool:
    frame = next(frame for frame in _stack() if frame.f_code.co_filename != __file__)
    return frame.f_code.co_filename.startswith(TORCH)


def _stack() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back
