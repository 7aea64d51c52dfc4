"""What a call needs at its peak, and the name of the device."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode


def peak_mb(function: Callable[..., Any], *inputs: Tensor) -> float:
    """Call the function once; return the megabytes (1e6 bytes) that it held at its peak, beyond its inputs.

    It slows the call down: never time a call in here.
    """
    if inputs[0].device.type == "cuda":
        torch.cuda.synchronize()
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        function(*inputs)
        return (torch.cuda.max_memory_allocated() - before) / 1e6
    with _Live(inputs) as live:
        function(*inputs)
    return live.peak / 1e6


class _Live(TorchDispatchMode):
    """Looks at each operation's results, and adds up the bytes of those that are still there."""

    def __init__(self, inputs: Iterable[Tensor]) -> None:
        """Leave out what was there before."""
        super().__init__()
        self.peak = 0
        self._before = {StorageWeakRef(tensor.untyped_storage()).cdata for tensor in inputs}
        self._live: dict[int, tuple[StorageWeakRef, int]] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Compute, then look."""
        result = func(*args, **(kwargs or {}))
        self._live = {key: it for key, it in self._live.items() if not it[0].expired()}
        for tensor in result if isinstance(result, tuple | list) else [result]:
            if isinstance(tensor, Tensor):
                storage = tensor.untyped_storage()
                reference = StorageWeakRef(storage)
                if reference.cdata not in self._before:
                    self._live[reference.cdata] = (reference, storage.nbytes())
        self.peak = max(self.peak, sum(size for _, size in self._live.values()))
        return result


def device_name(device: torch.device) -> str:
    """Return the name of the GPU, or of the CPU as the system tells it."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8", errors="replace").splitlines() if info.is_file() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine() or "CPU"
