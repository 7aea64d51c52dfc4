"""What the processes below one keeper use, read from /proc, and their end."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path


def below(pid: int) -> list[int]:
    """Every process below *pid*: orphans come back to it, so none is missed."""
    found, left = [], [pid]
    while left:
        born = children(left.pop())
        found += born
        left += born
    return found


def children(pid: int) -> list[int]:
    """Processes that *pid* is the parent of, whichever of its threads started them."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                found += map(int, (thread / "children").read_text().split())
    return found


def resident_bytes(pids: list[int], inherited: int) -> int:
    """Memory of these processes beyond what each inherited from the warm process."""
    return sum(max(0, _status_bytes(pid) - inherited) for pid in pids)


def _status_bytes(pid: int) -> int:
    total = 0
    with contextlib.suppress(OSError, ValueError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith(("RssAnon:", "RssShmem:")):
                total += int(line.split()[1]) * 1024
    return total


def kill(pids: list[int]) -> None:
    """End them."""
    signal_all(pids, signal.SIGKILL)


def cpu_seconds(pids: list[int]) -> float:
    """CPU time of their living threads, to the nanosecond where they stand still."""
    return sum(int(text.split()[0]) for pid in pids for text in _of_threads(pid, "schedstat")) * 1e-9


def moving(pids: list[int]) -> bool:
    """Whether a thread of theirs runs, or could at once."""
    return any(text.rpartition(")")[2].split()[0] in "RS" for pid in pids for text in _of_threads(pid, "stat"))


def signal_all(pids: list[int], number: int) -> None:
    """Send them a signal; who is gone already is no error."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _of_threads(pid: int, file: str) -> list[str]:
    found = []
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                found.append((thread / file).read_text())
    return found
