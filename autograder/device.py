"""Which machine grades: found without torch, so that a command can say it at once."""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from autograder.errors import UserError
from autograder.model import Device

Tier = Callable[[str, Literal["cpu", "cuda"]], str]


def find(wanted: str, tier: Tier) -> tuple[Device, str]:
    """Resolve auto, cpu or cuda:N to a device record and to torch's name for it."""
    if wanted == "auto":
        wanted = "cuda:0" if gpu_names() else "cpu"
    if wanted == "cpu":
        return Device(cpu_name(), "cpu", tier(cpu_name(), "cpu"), versions()), "cpu"
    kind, _, index = wanted.partition(":")
    names = gpu_names()
    if kind != "cuda" or not (index or "0").isdigit():
        raise UserError(f"--device {wanted}: not a device; use auto, cpu or cuda:N")
    if int(index or 0) >= len(names):
        raise UserError(f"--device {wanted}: this machine has {len(names)} NVIDIA GPU(s); use auto, cpu or cuda:N")
    name = names[int(index or 0)]
    known = {**versions(), "driver": driver()}
    return Device(name, "cuda", tier(name, "cuda"), known), f"cuda:{index or 0}"


def cpu_name() -> str:
    """Name the processor as the kernel does."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{names[0]}, {len(names)} cores" if names else f"{platform.machine()} processor"


def gpu_names() -> list[str]:
    """Ask the driver; no driver is no GPU."""
    return _ask_gpus("nvmlDeviceGetName")


def identity(worker_device: str) -> str:
    """Name one device of this machine, whatever number a process gives it: cpu, or the GPU's UUID."""
    kind, _, index = worker_device.partition(":")
    return "cpu" if kind == "cpu" else _ask_gpus("nvmlDeviceGetUUID")[int(index or 0)]


def minor(worker_device: str) -> str:
    """Return the number in the name of a GPU's device node, which need not be CUDA's."""
    return _ask_gpus("nvmlDeviceGetMinorNumber")[int(worker_device.partition(":")[2] or 0)]


def driver() -> str:
    """Return the version of the NVIDIA driver."""
    import pynvml

    try:
        pynvml.nvmlInit()
        return str(pynvml.nvmlSystemGetDriverVersion())
    except pynvml.NVMLError:
        return "unknown"


def _ask_gpus(question: str) -> list[str]:
    import pynvml

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return []
    try:
        handles = map(pynvml.nvmlDeviceGetHandleByIndex, range(pynvml.nvmlDeviceGetCount()))
        return [str(getattr(pynvml, question)(handle)) for handle in handles]
    finally:
        pynvml.nvmlShutdown()


def versions() -> dict[str, str]:
    """Versions that a verdict may depend on."""
    found = {"python": platform.python_version()}
    for name in ("perflab", "torch", "torchvision", "numpy"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found
