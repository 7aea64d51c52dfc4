"""What a probe of part 7 works with: torch.compile with its arguments noted."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from autograder.worker import rig as worker

REAL = torch.compile
NAMES = ("backend", "mode", "dynamic", "fullgraph")


@contextmanager
def with_compiler() -> Iterator[None]:
    """Let torch compile in a call that is watched: a watch turns its compiler off."""
    with _disable_current_modes(), torch.compiler.set_stance("default"):
        yield


class Rig(worker.Rig):
    """The toolkit of this part's probes."""

    def install(self) -> None:
        """Note calls of torch.compile, also by those who import it by name."""
        super().install()
        self._calls: list[dict[str, Any]] = []
        self._compiled: list[Any] = []
        torch.compile = self._compile

    def uninstall(self) -> None:
        """Put torch.compile back."""
        super().uninstall()
        torch.compile = REAL

    def _compile(self, model: Any = None, **options: Any) -> Any:
        if model is None:
            return lambda it: self._compile(it, **options)
        given = dict(options.get("options") or {})
        compiled = REAL(model, **options)
        bound = inspect.signature(REAL).bind(model, **options)
        bound.apply_defaults()
        named = {name: str(bound.arguments[name]) for name in NAMES}
        mode = {} if given else torch._inductor.list_mode_options(options.get("mode") or "default")
        self._calls.append(
            {**named, "options": {name: str(it) for name, it in (mode | given).items()}}
        )
        self._compiled.append(compiled)
        return compiled

    def asked_of_compile(self, returned: Any) -> dict[str, Any]:
        """Return what torch.compile was asked for since the last look, and whether *returned* is what it made."""
        calls, made = self._calls[:8], list(self._compiled)
        in_place = getattr(returned, "_compiled_call_impl", None)  # of model.compile()
        self._calls.clear()
        self._compiled.clear()
        return {"calls": calls, "is_made": any(it is returned or it is in_place for it in made)}
