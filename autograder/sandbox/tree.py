"""The processes below one keeper, read from /proc.

Who they are, whether they move, and their end.
"""

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
    pids = []
    left = [pid]
    while left:
        born = children(left.pop())
        pids += born
        left += born
    return pids


def children(pid: int) -> list[int]:
    """Processes that *pid* is the parent of, whichever of its threads started them."""
    pids: list[int] = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 fifty times a second: no Path
            with (
                contextlib.suppress(OSError),
                open(f"/proc/{pid}/task/{thread}/children", "rb") as file,  # noqa: PTH123 the same
            ):
                pids += map(int, file.read().split())
    return pids


def kill(pids: list[int]) -> None:
    """End them."""
    signal_all(pids, signal.SIGKILL)


def turns(pids: list[int]) -> dict[str, int]:
    """How often each living thread of theirs was given a core so far.

    Whatever they do, one of these changes.
    """
    # Not their CPU time: that of a process which ended is nowhere, so who stops, works and ends
    # would have used less.
    if not TURNS.exists():
        raise SpoiltError(f"this kernel does not tell who was given a core: there is no {TURNS}")
    counts = {}
    for thread in threads(pids):
        with contextlib.suppress(OSError):
            if _state(thread) not in "ZX":
                counts[thread.name] = int((thread / "schedstat").read_text().split()[2])
    return counts


def waited_seconds(pids: list[int]) -> float:
    """How long that thread of theirs stood ready without a core which stood so longest."""
    waits = [0.0]
    for thread in threads(pids):
        with contextlib.suppress(OSError):
            waits.append(int((thread / "schedstat").read_text().split()[1]) / 1e9)
    return max(waits)


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
    """Whether a thread of theirs runs, could at once, or will when the kernel is done with
    what it asked for.
    """
    return any(_state(thread) in "RSD" for thread in threads(pids))


def signal_all(pids: list[int], number: int) -> None:
    """Send them a signal; who is gone already is no error."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def threads(pids: list[int]) -> list[Path]:
    """Return the folder of each of their threads."""
    folders: list[Path] = []
    for pid in pids:
        with contextlib.suppress(OSError):
            folders += Path(f"/proc/{pid}/task").iterdir()
    return folders


def _state(thread: Path) -> str:
    with contextlib.suppress(OSError):
        return (thread / "stat").read_text().rpartition(")")[2].split()[0]
    return "X"
