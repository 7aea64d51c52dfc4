"""What a student's code raised: its kind, and one line with the exception, its place, and the call that led to it."""

from __future__ import annotations

import bdb
import contextlib
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

import torch

from autograder.model import Kind
from autograder.worker.rigs.returned import BadReturn

TORCH: dict[str, Kind] = {
    "CheckpointError": "changed segment",
    "FailOnRecompileLimitHit": "recompiled",
}
"""Exceptions of torch by the names of their classes, which have other homes in other versions."""
NO_LINE = "EOF when reading a line"
"""What `input()` raises where nobody types."""
PLAIN = (bool, int, float, type(None))
WIDEST = 600  # characters of what an error says
LONG = 40  # characters of a word that is cut all the same
LONGEST = 40  # characters of a text that is an argument


class ImportFailed(Exception):  # noqa: N818 the error is what it was raised from
    """The student's file could not be imported, so no probe of the part can run."""


def kind_of(error: BaseException, staged: Path | None = None) -> Kind:
    """Return what kind of end an exception is; most are of none. *staged* has the student's files."""
    if isinstance(error, BadReturn):
        return error.kind
    if isinstance(error, ImportFailed) and error.__cause__ is not None:
        return kind_of(error.__cause__, staged)
    return _python(error, staged) or _torch(error)


def _python(error: BaseException, staged: Path | None) -> Kind:
    match error:
        case NotImplementedError() if staged and own_frames(error, staged) and not str(error):
            return "unwritten"
        case ModuleNotFoundError():
            return "missing module"
        case SyntaxError():
            return "syntax"
        case AttributeError() if _enters_a_context(error):
            return "reused context"
    return ""


def _torch(error: BaseException) -> Kind:
    return next((TORCH[name] for name in _class_names(error) if name in TORCH), "")


def _enters_a_context(error: AttributeError) -> bool:
    """Whether contextlib raised it: a context that works once deletes its arguments when it is entered."""
    frames = traceback.extract_tb(error.__traceback__)
    return bool(frames) and (frames[-1].filename, frames[-1].name) == (
        contextlib.__file__,
        "__enter__",
    )


def _class_names(error: BaseException | None) -> Iterator[str]:
    """Yield the classes of an exception and of those that it was raised from."""
    while error is not None:
        yield from (kind.__name__ for kind in type(error).__mro__)
        error = error.__cause__


def in_words(error: BaseException, staged: Path) -> str:
    """Say what was raised, where in the student's file, and in which call."""
    if isinstance(error, BadReturn):
        return _clean(str(error))
    if isinstance(error, ImportFailed) and error.__cause__ is not None:
        return f"{error} could not be imported: {in_words(error.__cause__, staged)}"
    frames = own_frames(error, staged)
    where = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    if isinstance(error, NotImplementedError) and frames and not str(error):
        return f"{function_of(error, staged)} is not written yet{where}"
    if isinstance(error, SyntaxError) and error.filename and Path(error.filename).parent == staged:
        return _clean(
            f"SyntaxError: {error.msg} ({Path(error.filename).name}, line {error.lineno})"
        )
    if isinstance(error, SystemExit):
        return _clean(f"called sys.exit({error.code!r}){where}")
    return (
        _clean(f"{type(error).__name__[:60]}: {_said(error)}")
        + where
        + _call(error.__traceback__, staged)
    )


def _said(error: BaseException) -> str:
    """Return what an error says, or the line that raised it."""
    asks = "breakpoint()" if isinstance(error, bdb.BdbQuit) else "input()"
    if isinstance(error, bdb.BdbQuit) or (isinstance(error, EOFError) and str(error) == NO_LINE):
        return f"{asks} waits for a keyboard, and a check has none"
    last = traceback.extract_tb(error.__traceback__)[-1:]
    return str(error) or "".join(frame.line or "" for frame in last)


def own_frames(error: BaseException, staged: Path) -> list[traceback.FrameSummary]:
    """Keep the frames that run through the student's files."""
    return [
        f for f in traceback.extract_tb(error.__traceback__) if Path(f.filename).parent == staged
    ]


def function_of(error: BaseException, staged: Path | None = None) -> str:
    """Name the last function that it ran through, with its class: a file has several `__init__`.

    With *staged* it is the last of the student's.
    """
    codes = [frame.f_code for frame, _ in traceback.walk_tb(error.__traceback__)]
    own = [it for it in codes if staged is None or Path(it.co_filename).parent == staged]
    return own[-1].co_qualname.replace("<locals>.", "")


def as_text(error: BaseException, staged: Path) -> str:
    """Show the traceback as far as it runs through the student's files, by their names."""
    frames = own_frames(
        (isinstance(error, ImportFailed) and error.__cause__) or error,
        staged,
    )
    return "".join(
        f"  {Path(f.filename).name}, line {f.lineno}, in {f.name}\n    {f.line}\n" for f in frames
    )


def _call(trace: TracebackType | None, staged: Path) -> str:
    """Write the first call of a function of the student's: `, called as make_model(weights='auto', classes=55)`."""
    while trace is not None:
        code = trace.tb_frame.f_code
        if Path(code.co_filename).parent == staged and code.co_name.isidentifier():
            return f", called as {code.co_name}({_arguments(trace.tb_frame)})"
        trace = trace.tb_next
    return ""


def _arguments(frame: FrameType) -> str:
    code, held = frame.f_code, frame.f_locals
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return ", ".join(f"{name}={_shown(held[name])}" for name in names if name in held)


def _shown(value: Any) -> str:
    """Show a plain value as it is written, a tensor as code that makes its like.

    Of all else show the type: it may be hostile.
    """
    if type(value) in PLAIN:
        return repr(value)
    if type(value) is str:
        return repr(value[:LONGEST])
    if type(value) is torch.Tensor and value.dim():
        return _made(value)
    return type(value).__name__[:LONGEST]


def _made(tensor: torch.Tensor) -> str:
    has_random = tensor.dtype.is_floating_point and tensor.dtype.itemsize > 1  # float8 has none
    maker = "randn" if has_random else "zeros"
    kind = "" if tensor.dtype == torch.float32 else f", dtype={tensor.dtype}"
    if tensor.layout == torch.strided and not tensor.is_contiguous():
        return f"torch.empty_strided({tuple(tensor.shape)}, {tensor.stride()}{kind})"
    return f"torch.{maker}({tuple(tensor.shape)}{kind})"


def _clean(text: str) -> str:
    words = "".join(c if c.isprintable() else " " for c in text[: WIDEST + 1])
    whole, _, last = words.rpartition(" ")
    return words if len(words) <= WIDEST else f"{whole if len(last) < LONG else words[:-1]} ..."
