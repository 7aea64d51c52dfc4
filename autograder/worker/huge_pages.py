"""Huge pages for what is warm: a fork copies an entry for each page, and 2 MB in one page are one entry and not 512.

It costs a copy of all that memory, up to a second, and takes a third off a short probe: for long sessions.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator
from pathlib import Path

HUGE = 2 << 20  # bytes
MADV_COLLAPSE = 25  # Linux 6.1
libc = ctypes.CDLL(None, use_errno=True)


def gather() -> None:
    """Collapse what this process has on its heap; a kernel that cannot leaves it as it is."""
    for start, end in heap(Path("/proc/self/maps").read_text().splitlines()):
        libc.madvise(
            ctypes.c_void_p(start),
            ctypes.c_size_t(end - start),
            MADV_COLLAPSE,
        )


def heap(maps: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Yield whole huge pages of writable memory that is of no file: the first address, and the one after the last."""
    for line in maps:
        span, rights, _, _, inode, *name = line.split(maxsplit=5)
        start, end = (int(address, 16) for address in span.split("-"))
        start, end = -(-start // HUGE) * HUGE, end // HUGE * HUGE
        if rights == "rw-p" and inode == "0" and name in ([], ["[heap]"]) and start < end:
            yield start, end
