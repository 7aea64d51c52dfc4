"""What this machine can grade, and how to mend what is missing."""

from __future__ import annotations

import importlib.metadata
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass

BWRAP_TRIAL = [
    "bwrap",
    "--unshare-user",
    "--unshare-pid",
    "--unshare-net",
    "--ro-bind",
    "/",
    "/",
    "--proc",
    "/proc",
    "true",
]
APPARMOR = "AppArmor forbids user namespaces: add a profile for bwrap that allows userns"
# What bubblewrap says -> what to do about it.
BWRAP_ADVICE = {
    "setting up uid map: Permission denied": APPARMOR,
    "Failed RTM_NEWADDR": APPARMOR,
    "No permissions to create new namespace": "the container forbids namespaces: run it with seccomp unconfined",
    "Can't mount proc": "the container masks /proc: run it with procMount Unmasked",
}


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    name: str
    ok: bool
    found: str
    mend: str = ""
    needed_for: str = ""


def examine() -> list[Finding]:
    """Look at everything; nothing is changed."""
    return [look() for look in LOOKS]


def _python() -> Finding:
    ok = sys.version_info >= (3, 11)
    return Finding("Python", ok, platform.python_version(), "" if ok else "install Python 3.11 or newer", "everything")


def _package(name: str, wanted: str) -> Callable[[], Finding]:
    def look() -> Finding:
        try:
            return Finding(name, True, importlib.metadata.version(name), "", wanted)
        except importlib.metadata.PackageNotFoundError:
            return Finding(name, False, "not installed", f"pip install {name}", wanted)

    return look


def _bubblewrap() -> Finding:
    wanted = "grading work that is not trusted"
    if shutil.which("bwrap") is None:
        return Finding("bubblewrap", False, "not installed", "apt-get install bubblewrap", wanted)
    tried = subprocess.run(BWRAP_TRIAL, capture_output=True, text=True, timeout=20, check=False)
    if tried.returncode == 0:
        return Finding("bubblewrap", True, "starts; this version of perflab does not use it yet", "", wanted)
    said = tried.stderr.strip().splitlines()[-1] if tried.stderr.strip() else f"exit status {tried.returncode}"
    advice = next(
        (mend for words, mend in BWRAP_ADVICE.items() if words in said),
        "run `bwrap --ro-bind / / true` and read what it says",
    )
    return Finding("bubblewrap", False, said, advice, wanted)


def _gpu() -> Finding:
    from autograder.device import gpu_names

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
        return Finding(name, path is not None, path or "not installed", "" if path else mend, wanted)

    return look


LOOKS: tuple[Callable[[], Finding], ...] = (
    _python,
    _package("torch", "everything"),
    _package("torchvision", "the labs' models and data"),
    _bubblewrap,
    _gpu,
    _tool("c++", "torch.compile", "apt-get install g++"),
    _tool("nsys", "labs with Nsight Systems", "install Nsight Systems; its points stay owed without"),
    _tool("ncu", "labs with Nsight Compute", "install Nsight Compute; its points stay owed without"),
)
REQUIRED = {"Python", "torch", "torchvision"}
