"""Sees where student code brings values to the host: notes who waits there, or lets the wait take scripted time.

Waits  which line waited for the device, in which batches      Queue  work the host has to wait for when it fetches
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, Self

import torch
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from autograder.worker.hooks import Hook
from autograder.worker.nets import Loader

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
TORCH = str(Path(torch.__file__).parent)
GLUE = tuple(
    f"{TORCH}/{name}"
    for name in ("_tensor.py", "overrides.py", "utils/_contextlib.py", "_compile.py", "_dynamo/eval_frame.py")
)


class Fetches(TorchFunctionMode):
    """Sees each call that brings a tensor's value to the host: methods by name, other routes by what they run."""

    def __init__(self) -> None:
        """Watch this thread while active."""
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
        """Note, then compute."""
        name = getattr(func, "__name__", "")
        if not self.counts(name):
            return func(*args, **(kwargs or {}))
        self.fetched(SPOKEN.get(name, f".{name}()"))
        self.inside = True
        try:
            return func(*args, **(kwargs or {}))
        finally:
            self.inside = False

    def __enter__(self) -> Self:
        """Watch torch.cuda.synchronize as well."""
        self._synchronize = torch.cuda.synchronize

        @wraps(self._synchronize)
        def synchronize(*args: Any, **kwargs: Any) -> None:
            self.fetched("torch.cuda.synchronize()")
            self._synchronize(*args, **kwargs)

        torch.cuda.synchronize = synchronize
        self._values.__enter__()  # type: ignore[no-untyped-call]
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *error: object) -> None:
        """Stop watching."""
        torch.cuda.synchronize = self._synchronize
        super().__exit__(*error)  # type: ignore[no-untyped-call]
        self._values.__exit__(*error)  # type: ignore[no-untyped-call]


class _Values(TorchDispatchMode):
    """Sees the operator that every route to a single value ends in, whatever the method was called."""

    def __init__(self, owner: Fetches) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._owner = owner

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func._schema.name == "aten::_local_scalar_dense" and not self._owner.inside:
            self._owner.fetched("a tensor's value")
        return func(*args, **(kwargs or {}))


class Always:
    """Stands in for a loader where there are no batches: everything counts."""

    step: int | None = 0


DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


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


class Queue(Fetches):
    """Lets each forward pass leave work to a device that runs by itself, as a GPU does: a fetch waits for all of it."""

    def __init__(self, model: nn.Module, loader: Loader, seconds: float, wait: Callable[[float], None]) -> None:
        """The pass of each batch leaves *seconds*; *wait* lets the clock go on."""
        super().__init__()
        self._loader, self._wait, self._seconds = loader, wait, 0.0
        self._left = iter([seconds] * len(loader))  # a second pass over a batch, for its accuracy say, is free
        model.register_forward_hook(Hook(lambda *_: self._leave()))

    def _leave(self) -> None:
        self._seconds += next(self._left, 0.0)

    def counts(self, name: str) -> bool:
        """Between batches a tensor may be moved without waiting; after the epoch it is moved to be read."""
        return super().counts(name) or (name in ("to", "copy_") and self._loader.step is None)

    def fetched(self, _: str) -> None:
        """Wait."""
        self._wait(self._seconds)
        self._seconds = 0.0


def source_of(student: ModuleType, function: str = "") -> str:
    """Return the code of a student's file; or of one function and of those in the file that it names. No comments."""
    tree = ast.parse(Path(str(student.__file__)).read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            node.body[0] = ast.Pass()
    places = {node.name: ast.unparse(node) for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    if function not in places:
        return ast.unparse(tree)
    found: set[str] = set()
    wanted = [function]
    while wanted:
        name = wanted.pop()
        found.add(name)
        wanted += {word for word in re.findall(r"\w+", places[name]) if word in places} - found
    return "\n".join(places[name] for name in sorted(found))


def _stack() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back
