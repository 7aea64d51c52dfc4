"""A memory limit that the kernel holds for all processes of one box together, where root can have
a group for it.

What a worker holds is read in /proc fifty times a second (usage.py), and that is what decides
and what is told. The kernel's limit lies a little above: it is there for what grows faster than
anybody looks.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

MOUNTED = Path("/sys/fs/cgroup")
OWN = Path("/proc/self/cgroup")
NAME = "perflab-"
ABOVE = (
    256 << 20
)  # bytes above the limit of the part: files that are read count in a group, and in /proc they do not
NUMBERS = count(1)
GONE_SECONDS = 1.0


@dataclass(frozen=True)
class Kind:
    """What a version of the kernel's interface calls the limit, and the file that counts kills."""

    limit: str
    kills: str


FIRST, SECOND = (
    Kind("memory.limit_in_bytes", "memory.oom_control"),
    Kind("memory.max", "memory.events"),
)


@dataclass
class Group:
    """A group of processes with a limit on their memory."""

    folder: Path
    kind: Kind

    def take(self, pids: Iterable[int]) -> None:
        """Put processes into it; what they start from now on is in it as well."""
        for pid in pids:
            with contextlib.suppress(OSError):  # it has ended
                (self.folder / "cgroup.procs").write_text(str(pid))

    def struck(self) -> bool:
        """Whether the kernel has ended one of them because of the limit."""
        with contextlib.suppress(OSError):
            words = (self.folder / self.kind.kills).read_text().split()
            return "oom_kill" in words and int(words[words.index("oom_kill") + 1]) > 0
        return False

    def close(self) -> None:
        """Remove it; its last process may take a moment to be gone."""
        deadline = time.monotonic() + GONE_SECONDS
        while self.folder.exists():
            with contextlib.suppress(OSError):
                self.folder.rmdir()
            if time.monotonic() > deadline:
                return
            time.sleep(0.001)


def limited_group(limit_bytes: int) -> Group | None:
    """Make a group, or nothing where this user can have none."""
    for parent, kind in parents():
        folder = parent / f"{NAME}{os.getpid()}-{next(NUMBERS)}"
        try:
            folder.mkdir()
        except OSError:
            continue
        group = Group(folder, kind)
        try:
            (folder / kind.limit).write_text(str(limit_bytes + ABOVE))
        except OSError:
            group.close()
            continue
        return group
    return None


def clear() -> None:
    """Remove the groups of graders that were killed.

    One that is in use, by whomever, stays.
    """
    for parent, _ in parents():
        for folder in parent.glob(f"{NAME}*"):
            pid = folder.name.removeprefix(NAME).partition("-")[0]
            if not Path(f"/proc/{pid}").exists():
                with contextlib.suppress(OSError):
                    folder.rmdir()


def parents() -> Iterator[tuple[Path, Kind]]:
    """Find groups that may hold ours.

    Of version 1 our own, of version 2 the nearest that hands memory on.
    """
    for line in OWN.read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        own = path.strip("/")
        if "memory" in controllers.split(","):
            yield MOUNTED / "memory" / own, FIRST
        elif not controllers:
            above = [MOUNTED / own, *(MOUNTED / own).parents]
            yield from ((folder, SECOND) for folder in above if _hands_on(folder))


def _hands_on(folder: Path) -> bool:
    with contextlib.suppress(OSError):
        return "memory" in (folder / "cgroup.subtree_control").read_text().split()
    return False
