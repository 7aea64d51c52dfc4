"""What the probes of part 7 work with: torch.compile with its arguments noted, and what a module was before."""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch import Tensor, nn

from autograder.worker import rig as worker

REAL = torch.compile
NAMES = ("backend", "mode", "dynamic", "fullgraph")


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

    @staticmethod
    def kept(module: nn.Module) -> dict[str, Any]:
        """Return the numbers of a module, and its layers with their modes."""
        layers = {f"layer {name}": (it, it.training) for name, it in module.named_modules() if name}
        numbers = {name: it.clone() for name, it in module.state_dict().items()}
        return {"train()": module.training, **layers, **numbers}

    @staticmethod
    def moved(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
        """Name what is no longer what it was."""
        names = dict.fromkeys([*before, *after])
        return [name for name in names if not _alike(before.get(name), after.get(name))]


def _alike(old: Any, new: Any) -> bool:
    if isinstance(old, Tensor) and isinstance(new, Tensor):
        return torch.equal(old, new)
    return bool(old == new)
