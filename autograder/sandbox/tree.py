"""What the processes below one keeper use, read from /proc, and their end."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

from autograder.errors import SpoiltError

TURNS = Path("/proc/self/schedstat")
TICKS = os.sysconf("SC_CLK_TCK")


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


def held_bytes(pids: list[int], inherited: int) -> tuple[int, int]:
    """Memory of these processes beyond what each inherited from the warm process: of all now, of one at its most."""
    # Pages of files on disk are left out. RssFile and VmHWM hold every library that is mapped, and what of it can be
    # written stands in smaps only, too slow for each look. In the box nothing on disk can be written: its /tmp and
    # /dev/shm are memory of a fixed size, and mapped from there it is RssShmem. The peak of a cgroup of one's own would
    # hold the page cache as well: who first reads a file of 100 MB has used 106 MB, who reads it next 1 MB.
    held = [_held_bytes(pid) for pid in pids]
    return sum(max(0, now - inherited) for now, _ in held), max((most - inherited for _, most in held), default=0)


def _held_bytes(pid: int) -> tuple[int, int]:
    """Return what a process holds, and the most that it ever held: the kernel notes that between two looks."""
    held = dict.fromkeys(("RssAnon", "RssShmem", "RssFile", "VmHWM"), 0)
    with contextlib.suppress(OSError, ValueError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            name, _, value = line.partition(":")
            if name in held:
                held[name] = int(value.split()[0]) * 1024
    # What is mapped of files hardly ever shrinks in a worker, so there was no more of it when the most was held.
    return held["RssAnon"] + held["RssShmem"], held["VmHWM"] - held["RssFile"]


def kill(pids: list[int]) -> None:
    """End them."""
    signal_all(pids, signal.SIGKILL)


def turns(pids: list[int]) -> dict[str, int]:
    """How often each living thread of theirs was given a core so far: whatever they do, one of these changes."""
    # Not their CPU time: that of a process which ended is nowhere, so who stops, works and ends would have used less.
    if not TURNS.exists():
        raise SpoiltError(f"this kernel does not tell who was given a core: there is no {TURNS}")
    found = {}
    for thread in _threads(pids):
        with contextlib.suppress(OSError):
            if _state(thread) not in "ZX":
                found[thread.name] = int((thread / "schedstat").read_text().split()[2])
    return found


def interrupted_seconds() -> float:
    """How long the kernel has served interrupts so far on the core that is timed."""
    core = f"cpu{timed_core()} "
    for line in Path("/proc/stat").read_text().splitlines():
        if line.startswith(core):
            return sum(map(int, line.split()[6:8])) / TICKS
    return 0.0


def timed_core() -> int:
    """Return the core that both sides of a pair share, and what else a timed box consists of."""
    return max(os.sched_getaffinity(0))


def moving(pids: list[int]) -> bool:
    """Whether a thread of theirs runs, could at once, or will when the kernel is done with what it asked for."""
    return any(_state(thread) in "RSD" for thread in _threads(pids))


def signal_all(pids: list[int], number: int) -> None:
    """Send them a signal; who is gone already is no error."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _threads(pids: list[int]) -> list[Path]:
    found: list[Path] = []
    for pid in pids:
        with contextlib.suppress(OSError):
            found += Path(f"/proc/{pid}/task").iterdir()
    return found


def _state(thread: Path) -> str:
    with contextlib.suppress(OSError):
        return (thread / "stat").read_text().rpartition(")")[2].split()[0]
    return "X"
