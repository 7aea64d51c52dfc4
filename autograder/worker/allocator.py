"""What the C library does with memory that is freed: its own rule depends on what a process has kept by chance.

A tensor of 16 MB that is freed goes back to the kernel, or stays, by what lies above it on the heap.
Where it goes back, the next one is zeroed page by page: one function was measured at 17 ms and at 35 ms.
"""

from __future__ import annotations

import ctypes

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # of mallopt
SMALL, LARGE = 64 << 10, 1 << 30  # bytes


def return_at_once() -> None:
    """Let memory that is freed be gone, so that what the process holds is what it uses."""
    _set(MMAP_THRESHOLD, SMALL)


def keep() -> None:
    """Let memory that is freed be used again, so that a time does not depend on what else a process keeps."""
    _set(TRIM_THRESHOLD, LARGE)
    _set(MMAP_THRESHOLD, LARGE)


def _set(option: int, value: int) -> None:
    ctypes.CDLL(None).mallopt(option, value)
