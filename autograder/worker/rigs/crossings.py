"""Runs student code on device `meta`, which stands in for a GPU: tensors there have shapes and no numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from autograder.worker.raised import in_words
from autograder.worker.rigs.eager import Watch

META = torch.device("meta")


class Crossings(Watch):
    """Adds up what operators read on the CPU to make something on `meta`."""

    def __init__(self) -> None:
        """Nothing has crossed."""
        super().__init__()
        self.bytes = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run, then add."""
        result = func(*args, **(kwargs or {}))
        if "meta" in places(result):
            self.bytes += sum(it.nbytes for it in _tensors((args, kwargs)) if it.is_cpu)
        return result


def on_meta(call: Callable[[torch.device], Any], staged: Path) -> dict[str, Any]:
    """Call with that device; say what was raised, where the results are and how many bytes crossed."""
    with Crossings() as crossings:
        returned = call(META)
    raised = in_words(returned, staged) if isinstance(returned, Exception) else ""
    return {"raised": raised, "places": places(returned), "bytes": crossings.bytes}


def places(value: Any) -> list[str]:
    """Name the kinds of devices of the tensors in *value*."""
    return sorted({it.device.type for it in _tensors(value)})


def _tensors(value: Any) -> list[Tensor]:
    return [it for it in tree_leaves(value) if isinstance(it, Tensor)]
