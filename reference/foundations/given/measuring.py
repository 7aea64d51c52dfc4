"""What a call needs at its peak, and the name of the device."""

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
    with Allocations() as memory:
        function(*inputs)
    return memory.peak / 1e6


class Allocations(TorchDispatchMode):
    """Counts the bytes of tensors that are made inside of it, and are still there.

    with Allocations() as memory:
        ...
        memory.live         bytes that are there now
        memory.peak         the most bytes that were there at a time, since the start or the last restart()

    What was there before does not count, nor do views of it or results that are written into it.
    """

    def __init__(self) -> None:
        """Begin with nothing."""
        super().__init__()
        self.peak = 0
        self._made: dict[int, tuple[StorageWeakRef, int]] = {}

    @property
    def live(self) -> int:
        """Return the bytes that are there now."""
        self._made = {key: it for key, it in self._made.items() if not it[0].expired()}
        return sum(size for _, size in self._made.values())

    def restart(self) -> None:
        """Let the peak be what is there now."""
        self.peak = self.live

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Compute, then look which results have memory of their own."""
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        before = {storage_of(it) for it in tree_leaves((args, kwargs)) if isinstance(it, Tensor)}
        for tensor in tree_leaves(result):
            if isinstance(tensor, Tensor) and storage_of(tensor) not in before:
                storage = tensor.untyped_storage()
                self._made[storage_of(tensor)] = StorageWeakRef(storage), storage.nbytes()
        self.peak = max(self.peak, self.live)
        return result


def storage_of(tensor: Tensor) -> int:
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
