"""What this machine can grade, and how to mend what is missing."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from autograder.machine import landlock
from autograder.sandbox import BoxError, cgroup, gpu, try_out

FENCE = "the sandbox"
LITTLE_GB = 5.0  # free: a class of a hundred with large uploads fills that
YAMA = Path("/proc/sys/kernel/yama/ptrace_scope")


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    name: str
    ok: bool
    state: str
    mend: str = ""
    needed_for: str = ""


def examine() -> list[Finding]:
    """Look at everything; nothing is changed."""
    return [look() for look in LOOKS]


def _python() -> Finding:
    ok = sys.version_info >= (3, 11)
    return Finding(
        "Python",
        ok,
        platform.python_version(),
        "" if ok else "install Python 3.11 or newer",
        "everything",
    )


def _package(name: str, wanted: str) -> Callable[[], Finding]:
    def look() -> Finding:
        try:
            return Finding(name, True, importlib.metadata.version(name), "", wanted)
        except importlib.metadata.PackageNotFoundError:
            return Finding(name, False, "not installed", f"pip install {name}", wanted)

    return look


def _fence() -> Finding:
    from autograder.machine.device import gpu_names

    wanted, lent = "grading work that is not trusted", gpu.nodes("cuda:0") if gpu_names() else ()
    with_gpu = ", with a GPU in it" if lent else ""
    try:
        return Finding(FENCE, True, f"{try_out(lent)}, comes up{with_gpu}", "", wanted)
    except BoxError as problem:
        return Finding(FENCE, False, problem.problem, problem.mend, wanted)


def _between_processes() -> Finding:
    """Look for what keeps the processes of one box out of each other's memory."""
    wanted, version = "timing in the sandbox", landlock.abi()
    if version >= landlock.WITH_REFER:
        signals = (
            ""
            if version >= landlock.WITH_SCOPES
            else "; it lets signals pass, which are seen when they are sent"
        )
        return Finding("Landlock", True, f"version {version}{signals}", "", wanted)
    if YAMA.exists() and YAMA.read_text().strip() != "0":
        return Finding("Landlock", True, "none, and Yama does as well", "", wanted)
    mend = "boot with landlock in lsm= (a kernel of 5.19 or newer), or sysctl kernel.yama.ptrace_scope=1"
    state = "none, and no Yama: who enters the sandbox's own processes is noticed, and not kept out"
    return Finding("Landlock", False, state, mend, wanted)


def _memory() -> Finding:
    """Look whether the kernel itself holds a box's limit on memory."""
    group = cgroup.limited_group(0)
    if group is not None:
        group.close()
    state = (
        "a group for each sandbox"
        if group
        else "counted fifty times a second, by no group of the kernel's"
    )
    mend = (
        ""
        if group
        else "grade as root, or with `systemd-run -p MemoryMax=` (docs/grading-machine.md)"
    )
    return Finding(
        "memory limit", group is not None, state, mend, "a burst of memory in the sandbox"
    )


def _quiet() -> Finding:
    """Look whether other programs keep the cores busy."""
    busy, cores = os.getloadavg()[0], os.cpu_count() or 1
    ok = busy < cores
    mend = (
        ""
        if ok
        else "stop other programs: the clock may refuse a busy machine, and its points stay owed"
    )
    return Finding("quiet", ok, f"load {busy:.1f} on {cores} cores", mend, "speed bars")


def _room() -> Finding:
    """Look how much is free where results would go if --out were here, and where workers put their files."""
    free = {place: shutil.disk_usage(place).free / 1e9 for place in (".", tempfile.gettempdir())}
    here, there = free.values()
    return Finding(
        "free disk",
        min(free.values()) >= LITTLE_GB,
        f"{here:.1f} GB here, {there:.1f} GB in {tempfile.gettempdir()}",
        "" if min(free.values()) >= LITTLE_GB else "make room, or put --out (or TMPDIR) elsewhere",
        "results, which are as large as what was handed in",
    )


def _gpu() -> Finding:
    from autograder.machine.device import gpu_names

    names = gpu_names()
    return Finding(
        "NVIDIA GPU",
        bool(names),
        ", ".join(names) or "none",
        "" if names else "points that need one stay owed",
        "speed bars",
    )


def _tool(name: str, wanted: str, mend: str) -> Callable[[], Finding]:
    def look() -> Finding:
        path = shutil.which(name)
        return Finding(
            name, path is not None, path or "not installed", "" if path else mend, wanted
        )

    return look


LOOKS: tuple[Callable[[], Finding], ...] = (
    _python,
    _package("torch", "everything"),
    _package("torchvision", "the labs' models and data"),
    _fence,
    _between_processes,
    _memory,
    _quiet,
    _room,
    _gpu,
    _tool("c++", "torch.compile", "apt-get install g++"),
    _tool(
        "nsys",
        "profiles by Nsight Systems",
        "install Nsight Systems to record them; grading does not need it",
    ),
    _tool(
        "ncu",
        "profiles by Nsight Compute",
        "install Nsight Compute to record them; grading does not need it",
    ),
)
REQUIRED = {"Python", "torch", "torchvision"}
