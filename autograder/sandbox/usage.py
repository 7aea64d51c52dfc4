"""The memory that a worker and all that it started hold, read in /proc from outside.

What every worker inherits from the warm process is shared by all, and nobody's own as long as
nobody changes it. What no process maps counts too: files in memory, sockets, pipes.
"""

from __future__ import annotations

import contextlib
import os
import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from autograder.sandbox import tree

PROC = Path("/proc")
FIELDS = ("RssAnon", "RssShmem", "RssFile", "VmSwap", "VmPTE", "VmHWM")
SHARES = (
    ("smaps_rollup", ("Pss_Anon", "Pss_Shmem", "SwapPss")),
    ("status", ("RssAnon", "RssShmem", "VmSwap")),
)
INODE_BYTES = 1024  # of the kernel, for an empty file
NEGATIVE_FROM = 1 << 31  # of a number of 32 bits
PIPE_BYTES = 64 << 10  # no pipe holds more: its size cannot be changed in the box
DESCRIPTORS = 16  # whoever has no more of them hides nothing in pipes that is worth counting
# Limits, as memory is counted if nothing is shared: an exact look takes up to 20 ms for each
# process.
EXACT_FROM = 2
SOME = 8  # processes


@dataclass(frozen=True)
class Inherited:
    """The warm process, as it was when its workers are forked from it.

    Nothing of this is a worker's own.
    """

    held_bytes: int = 0
    mark: bytes = b""
    """See `mark_of`."""


@dataclass
class _Process:
    """What the looks at one process have shown so far."""

    least: int
    most: int = 0


@dataclass
class Usage:
    """The memory of one worker's processes, look by look."""

    inherited: Inherited
    elsewhere: Callable[[], int] = lambda: 0
    """Bytes that the box holds and no process maps."""
    peak_bytes: int = 0
    _seen: dict[tuple[int, bytes], _Process] = field(default_factory=dict)
    _whole: int = 0
    _next_exact: float = 0.0

    def look(self, pids: Sequence[int]) -> int:
        """Return what they take of the memory now beyond what they inherited, and note the
        most that they held.
        """
        other = self.elsewhere() + sum(map(_in_pipes, pids))
        processes = [self._process(pid) for pid in pids]
        taken, most, self._whole = (
            other + sum(process[which] for process in processes) for which in range(3)
        )
        self.peak_bytes = max(self.peak_bytes, most)
        return taken

    def _process(self, pid: int) -> tuple[int, int, int]:
        """Return what it takes, the most that it held since the last look, and what it takes
        with all it inherited.
        """
        # Pages of files on disk are left out: RssFile and VmHWM hold every library that is
        # mapped, and nothing on disk can be written in the box. VmHWM is the kernel's own note
        # of the most. The peak of a cgroup of one's own would hold the page cache as well: who
        # first reads a file of 100 MB has used 106 MB, who reads it next 1 MB.
        mark, memory = memory_of(pid)
        own = memory["RssAnon"] + memory["VmSwap"]
        tables = memory["VmPTE"]
        # The most of one that is first seen beside others may be its parent's: until exec,
        # vfork has them share memory.
        before = memory["VmHWM"] if self._seen else 0
        process = self._seen.setdefault((pid, mark), _Process(own, before))
        # Honest work never holds less than it inherited; giving some of that back makes no room
        # for anything else.
        process.least = min(process.least, own)
        free = (
            min(self.inherited.held_bytes, process.least)
            if mark and mark == self.inherited.mark
            else 0
        )
        held = own + memory["RssShmem"] - free
        rose = memory["VmHWM"] > process.most
        process.most = max(process.most, memory["VmHWM"])
        # What is mapped of files hardly ever shrinks in a worker, so there was no more of it
        # when the most was held.
        most = max(held, memory["VmHWM"] - memory["RssFile"] - free) if rose else held
        return held + tables, most, held + tables + free

    def over(self, limit: int, pids: Sequence[int]) -> bool:
        """Whether they hold more than *limit* beyond what one of them inherited.

        Each may have changed what it did.
        """
        begun = time.monotonic()
        if self._whole <= EXACT_FROM * limit or begun < self._next_exact:
            return False
        # Some of them, drawn anew each time, say whether it is worth while to look at all.
        some = random.sample(pids, min(SOME, len(pids)))
        own = self.elsewhere() - self.inherited.held_bytes
        over = own + sum(map(_share, some)) * len(pids) / len(some) > limit
        over = over and own + sum(map(_share, pids)) > limit
        ended = time.monotonic()
        self._next_exact = ended + (ended - begun)
        return over


def memory_of(pid: int) -> tuple[bytes, dict[str, int]]:
    """Return a process's mark, and what the kernel says of its memory, in bytes.

    All zero when it is gone.
    """
    memory = b"", dict.fromkeys(FIELDS, 0)
    for folder in _folders(pid):
        # The mark first: of one that ends in between there is no memory then, rather than
        # memory without a mark.
        memory = _bytes(f"{folder}/auxv"), _kilobytes(f"{folder}/status", FIELDS)
        if memory[1]["VmHWM"]:
            break
    return memory


def _folders(pid: int) -> Iterator[str]:
    yield str(pid)
    # Its first thread has ended, and others may have its memory still.
    yield from (f"{pid}/task/{thread.name}" for thread in tree.threads([pid]))


def mark_of(pid: int) -> bytes:
    """Return where a process has its code and its stack.

    Random for what is started anew, kept by a fork.
    """
    return _bytes(f"{pid}/auxv")  # nothing for whoever may not be looked at: it counts as no fork


def in_files(folders: Iterable[int]) -> int:
    """Return what file systems in memory hold, also of files without a name.

    A file counts even if it is empty.
    """
    total = 0
    for fd in folders:
        status = os.fstatvfs(fd)
        total += (status.f_blocks - status.f_bfree) * status.f_frsize + (
            status.f_files - status.f_ffree
        ) * INODE_BYTES
    return total


def in_sockets(pid: int) -> int:
    """Return what sockets of a process's network hold at the most, those that no process has
    open among them.
    """
    counts = {
        name: int(rest.split()[1])
        for name, _, rest in _lines(f"{pid}/net/sockstat", f"{pid}/net/sockstat6")
    }
    used = counts.get("sockets", 0)
    tables = [name.lower() for name in ("TCP", "TCP6") if counts.get(name)]  # 3 ms each
    queues = sum(
        _queued(line) for name in tables for line in _read(f"{pid}/net/{name}").splitlines()
    )
    return used * int(_read("sys/net/core/wmem_default")) + queues if used else 0


def _queued(line: str) -> int:
    """Return the bytes of one connection that wait to be sent or read."""
    with contextlib.suppress(ValueError):  # the headline
        sizes = [int(queue, 16) for queue in line.split()[4].split(":")]
        # The kernel subtracts two counters without a lock. An answer that comes in between makes
        # the difference negative, which reads as 4 GB.
        return sum(size for size in sizes if size < NEGATIVE_FROM)
    return 0


def _in_pipes(pid: int) -> int:
    with contextlib.suppress(OSError):
        # No Path, as below; 0 before Linux 6.2.
        open_files = os.stat(f"{PROC}/{pid}/fd").st_size  # noqa: PTH116
        return max(0, open_files - DESCRIPTORS) * PIPE_BYTES
    return 0


def _share(pid: int) -> int:
    """Return a process's share of its memory, where what several have counts in parts.

    All of it if nobody may look.
    """
    for folder in _folders(pid):
        share, whole = (
            sum(_kilobytes(f"{folder}/{name}", wanted).values()) for name, wanted in SHARES
        )
        if share or whole:
            return share or whole
    return 0


def _kilobytes(name: str, wanted: Sequence[str]) -> dict[str, int]:
    sizes = dict.fromkeys(wanted, 0)
    for key, _, value in _lines(name):
        if key in sizes:
            sizes[key] = int(value.split()[0]) * 1024
    return sizes


def _lines(*names: str) -> list[tuple[str, str, str]]:
    return [line.partition(":") for name in names for line in _read(name).splitlines()]


def _read(name: str) -> str:
    return _bytes(name).decode("utf-8", "replace")


def _bytes(name: str) -> bytes:
    # Fifty times a second for each process: a Path takes as long as the kernel.
    with contextlib.suppress(OSError), open(f"{PROC}/{name}", "rb") as file:  # noqa: PTH123
        return file.read()
    return b""
