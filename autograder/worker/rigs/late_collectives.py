"""Collective calls whose results arrive only when somebody waits for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import torch
import torch.distributed as dist
from torch import Tensor

from autograder.worker.rigs.collectives import Watching

REDUCES = ("allreduce_", "allreduce_coalesced_")
_Work: Any = dist.Work
_Future: Any = torch._C.Future


class Late(Watching):
    """Reduces a copy, and writes into the tensors at `wait()`, or once a future of it was asked for and is done.

    With real ones it depends on who is faster whether a missing wait is seen. *note* is called with "call" or
    "blocking call", with "wait" when somebody waits for a work or a future, and with "done" when one was asked and is.
    """

    def __init__(self, note: Callable[[str], None] = lambda _: None) -> None:
        super().__init__()
        self._note = note
        self._works: list[Any] = []
        self._wait = _Future.wait

    def __enter__(self) -> Self:
        """Let results come late."""

        def wait(future: Any) -> Any:
            self._note("wait")
            return self._wait(future)

        _Future.wait = wait
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *error: object) -> None:
        """Let them come as they do."""
        super().__exit__(*error)  # type: ignore[no-untyped-call]
        _Future.wait = self._wait

    def called(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Start a reduction on a copy."""
        if func.namespace != "c10d" or func._opname not in REDUCES:
            return func(*args, **kwargs)
        self._note("call" if _asynchronous(func, args, kwargs) else "blocking call")
        tensors = list(args[0])
        copies = [tensor.detach().clone() for tensor in tensors]
        *outputs, work = _listed(func(copies, *args[1:], **kwargs))
        late = _Late(_Work.unbox(work), tensors, copies, self._note)
        self._works.append(late)  # whoever lets go of a work may still have its future
        return (tensors, late.boxed()) if outputs else late.boxed()


class _Late(_Work):  # type: ignore[misc]
    """The work of one late reduction."""

    def __init__(
        self,
        work: Any,
        tensors: Sequence[Tensor],
        copies: Sequence[Tensor],
        note: Callable[[str], None],
    ) -> None:
        super().__init__()
        self._work, self._tensors, self._copies, self._note = work, tensors, copies, note
        self._there = False

    def wait(self, *timeout: Any) -> bool:
        """Let the result arrive."""
        self._note("wait")
        self._work.wait(*timeout)
        self._arrive()
        return True

    def is_completed(self) -> bool:
        """Let the result arrive, if it is there: asking until it is true is a way to wait."""
        done = bool(self._work.is_completed())
        if done:
            self._note("done")
            self._arrive()
        return done

    def is_success(self) -> bool:
        return bool(self.is_completed() and self._work.is_success())

    def get_future(self) -> Any:
        """Return a real one: C++ waits for it as well."""
        return self._work.get_future().then(self._arrive)

    def _arrive(self, _: Any = None) -> list[Tensor]:
        if not self._there:
            self._there = True
            with torch.no_grad():
                for tensor, copy in zip(self._tensors, self._copies, strict=True):
                    tensor.copy_(copy)
        return list(self._tensors)


def _asynchronous(func: Any, args: Any, kwargs: Any) -> bool:
    """Whether a call was made with async_op=True, which is the default of the operator."""
    names = [argument.name for argument in func._schema.arguments]
    return bool({**dict(zip(names, args, strict=False)), **kwargs}.get("async_op", True))


def _listed(returned: Any) -> list[Any]:
    return list(returned) if isinstance(returned, tuple | list) else [returned]
