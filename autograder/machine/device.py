"""Which machine grades: found without torch, so that a command can say it at once."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from autograder.errors import UserError
from autograder.model import Device

VISIBLE = "CUDA_VISIBLE_DEVICES"
Tier = Callable[[str, Literal["cpu", "cuda"]], str]


def find(wanted: str, tier: Tier) -> tuple[Device, str]:
    """Resolve auto, cpu or cuda:N to a device record and to torch's name for it.

    N counts the GPUs that are ours.
    """
    names = [] if wanted == "cpu" else gpu_names()
    ours = _ours(len(names))
    if wanted == "auto":
        wanted = "cuda:0" if ours else "cpu"
    if wanted == "cpu":
        return Device(cpu_name(), "cpu", tier(cpu_name(), "cpu"), versions()), "cpu"
    kind, _, index = wanted.partition(":")
    if kind != "cuda" or not (index or "0").isdigit():
        raise UserError(f"--device {wanted}: not a device; use auto, cpu or cuda:N")
    if int(index or 0) >= len(ours):
        raise UserError(
            f"--device {wanted}: this machine has {len(ours)} NVIDIA GPU(s); "
            "use auto, cpu or cuda:N"
        )
    number = ours[int(index or 0)]
    installed = {**versions(), "driver": driver()}
    # Workers have an environment of their own, so to them the GPU has the driver's number.
    return Device(names[number], "cuda", tier(names[number], "cuda"), installed), f"cuda:{number}"


def _ours(count: int) -> list[int]:
    """Return the numbers of the GPUs that this process was given.

    By Slurm, by whoever shares a machine, or all.
    """
    given = os.environ.get(VISIBLE)
    if given is None or not count:
        return list(range(count))
    uuids = _ask_gpus("nvmlDeviceGetUUID")
    numbers = {
        **{str(number): number for number in range(count)},
        **{uuid: n for n, uuid in enumerate(uuids)},
    }
    words = [word.strip() for word in given.split(",")] if given.strip() else []
    if strange := [word for word in words if word not in numbers]:
        raise UserError(
            f"{VISIBLE}={given}: '{strange[0]}' is neither the number nor the UUID of a GPU here"
        )
    return [numbers[word] for word in words]


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
    """Name one device of this machine, whatever number a process gives it.

    Cpu, or the GPU's UUID.
    """
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


def node() -> str:
    """Name this machine as those who share it do."""
    return os.environ.get("SLURMD_NODENAME") or platform.node()


def versions() -> dict[str, str]:
    """Versions that a verdict may depend on."""
    installed = {"python": platform.python_version()}
    for name in ("perflab", "torch", "torchvision", "numpy"):
        try:
            installed[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            installed[name] = "not installed"
    return installed
