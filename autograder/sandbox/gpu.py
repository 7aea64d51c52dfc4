"""What a box is lent so that a worker in it can use one GPU, and whether CUDA starts there.

Only the nodes of that GPU: whoever is inside sees one, as cuda:0. No machine with a GPU has run
this yet (docs/gpu.md); a box in which CUDA does not start is refused before anything is graded.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from autograder.machine import device

SHARED = ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools")
INSIDE = "cuda:0"
STARTS = [
    sys.executable,
    "-I",
    "-c",
    "import ctypes, sys; sys.exit(ctypes.CDLL('libcuda.so.1').cuInit(0))",
]


def nodes(worker_device: str, dev: Path = Path("/dev")) -> tuple[Path, ...]:
    """Name the device nodes of one GPU of this machine; of a processor none."""
    if worker_device == "cpu":
        return ()
    own = f"nvidia{device.minor(worker_device)}"
    return tuple(path for path in (dev / name for name in (*SHARED, own)) if path.exists())


def options(lent: Sequence[Path]) -> list[tuple[object, ...]]:
    """Return bubblewrap's options for them.

    A plain bind would be nodev, and CUDA looks for its device below /sys.
    """
    if not lent:
        return []
    system: list[tuple[object, ...]] = [
        ("--ro-bind", "/sys", "/sys"),
        ("--tmpfs", "/sys/fs/cgroup"),
    ]
    return [
        *(("--dev-bind", node, node) for node in lent),
        *system,
        ("--remount-ro", "/sys/fs/cgroup"),
    ]
