"""What measures a call: a meter of the device, the bytes of one call at their peak, the device's name."""

from __future__ import annotations

import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class Meter:
    """Asks a device whether it is idle and what it holds; of a CPU's memory it knows nothing."""

    def __init__(self, device: torch.device) -> None:
        """Remember the device."""
        self.device = device

    def synchronize(self) -> None:
        """Wait until the device has done all that was queued."""
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def allocated(self) -> int:
        """Return the bytes that tensors hold now; 0 on a CPU."""
        return torch.cuda.memory_allocated(self.device) if self.device.type == "cuda" else 0

    def reset_peak(self) -> None:
        """Let the peak be what is held now."""
        if self.device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(self.device)

    def peak(self) -> int | None:
        """Return the most bytes held since the last reset; None on a CPU."""
        return torch.cuda.max_memory_allocated(self.device) if self.device.type == "cuda" else None


def live_peak(function: Callable[..., Any], *inputs: Any) -> int:
    """Call the function once; return the most bytes of tensors that it had made and still held at a time.

    It slows the call down: never time a call in here.
    """
    with _Live() as live:
        function(*inputs)
    return live.peak


class _Live(TorchDispatchMode):
    """Counts the bytes of storages that are made inside of it and are still there."""

    def __init__(self) -> None:
        """Begin with nothing."""
        super().__init__()
        self.peak = 0
        self._made: dict[int, tuple[StorageWeakRef, int]] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Compute, then look which results have memory of their own."""
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        before = {_storage(it) for it in tree_leaves((args, kwargs)) if isinstance(it, Tensor)}
        for tensor in tree_leaves(result):
            if isinstance(tensor, Tensor) and _storage(tensor) not in before:
                storage = tensor.untyped_storage()
                self._made[_storage(tensor)] = StorageWeakRef(storage), storage.nbytes()
        self._made = {key: it for key, it in self._made.items() if not it[0].expired()}
        self.peak = max(self.peak, sum(size for _, size in self._made.values()))
        return result


def _storage(tensor: Tensor) -> int:
    """Return a number that views of the same memory share."""
    return StorageWeakRef(tensor.untyped_storage()).cdata


def device_name(device: torch.device) -> str:
    """Return the name of the GPU, or of the CPU as the system tells it."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8", errors="replace").splitlines() if info.is_file() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine() or "CPU"
