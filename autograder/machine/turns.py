"""Whose turn it is on a machine: many untimed workers at a time, or one timed pair alone.

Locks of files in one fixed place, so they hold across processes and users, and end with the
process that held them. Each device has two: who wants in passes the gate, who works holds the
work. Who wants to be alone keeps the gate while it waits, so nothing new starts. The processor
is one device; a GPU is another, and who times on it lets nobody time on the processor
meanwhile.
"""

from __future__ import annotations

import fcntl
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from textwrap import shorten
from typing import ParamSpec, TypeVar

from autograder.errors import UserError

# One place for all users; never written to, only locked.
PLACES = (Path("/run/lock"), Path("/tmp"))  # noqa: S108
CPU = "cpu"
PROC = Path("/proc")
QUIET_SECONDS = 10.0  # of waiting, before it is said for whom
ALONE = (
    "another grader needs the machine for one submission alone, which is timed or ran out of time"
)
MANY = "one submission has to run alone, and others still work beside it"
MOST_SHOWN = 160  # characters of a command
POLL_SECONDS = 0.02
P = ParamSpec("P")
R = TypeVar("R")


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


class Turns:
    """The turns of one device: the processor, or a GPU by its UUID."""

    def __init__(
        self,
        device: str = CPU,
        place: Path | None = None,
        *,
        say: Callable[[str], None] = _to_stderr,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Nothing is locked yet."""
        self._place = place or _place()
        self._device = device
        self._say = say
        self._now = now
        self._sleep = sleep
        self._told: set[str] = set()
        self.waited = 0.0
        """Seconds, for others; they are none of the work's."""

    @contextmanager
    def many(self) -> Iterator[None]:
        """Work beside others, while nothing is timed."""
        with ExitStack() as held:
            for device in dict.fromkeys((CPU, self._device)):
                held.enter_context(self._hold(device, fcntl.LOCK_SH))
            yield

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Work while nothing else does."""
        with ExitStack() as held:
            if self._device != CPU:
                held.enter_context(self._hold(CPU, fcntl.LOCK_SH))
            held.enter_context(self._hold(self._device, fcntl.LOCK_EX))
            yield

    @contextmanager
    def _hold(self, device: str, how: int) -> Iterator[None]:
        name = self._place / f"perflab-{device}"
        with _opened(name.with_suffix(".gate")) as gate, _opened(name.with_suffix(".work")) as work:
            self._wait(gate, fcntl.LOCK_EX, ALONE)
            self._wait(work, how, MANY)
            if how == fcntl.LOCK_SH:
                fcntl.flock(gate, fcntl.LOCK_UN)
            yield

    def _wait(self, lock: int, how: int, why: str) -> None:
        """Take a lock; whoever waits long for it says why, and then stands in the kernel's queue."""
        began = self._now()
        while not _taken(lock, how):
            if self._now() - began > QUIET_SECONDS:
                self._tell(f"perflab waits: {why}: {holder(lock)}")
                fcntl.flock(lock, how)
                break
            self._sleep(POLL_SECONDS)
        self.waited += self._now() - began

    def _tell(self, line: str) -> None:
        """Say it once: the same grader may need the machine many times."""
        if line not in self._told:
            self._told.add(line)
            self._say(line)


def _taken(lock: int, how: int) -> bool:
    try:
        fcntl.flock(lock, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def holder(lock: int, proc: Path = PROC) -> str:
    """Say which processes hold a lock, as far as this user may see.

    Of another one nothing may be seen.
    """
    status = os.fstat(lock)
    file = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    try:
        lines = [line.split() for line in (proc / "locks").read_text(encoding="ascii").splitlines()]
    except OSError:
        lines = []
    pids = dict.fromkeys(
        words[4] for words in lines if len(words) > 5 and words[1] == "FLOCK" and words[5] == file
    )
    return (
        " and ".join(_named(pid, proc) for pid in pids) or "a process that cannot be seen from here"
    )


def _named(pid: str, proc: Path) -> str:
    """Say what a process is, and since when it runs."""
    try:
        command = (proc / pid / "cmdline").read_text(errors="replace").replace("\0", " ").strip()
        ticks = int(
            (proc / pid / "stat").read_text(errors="replace").rpartition(")")[2].split()[19]
        )
        up = float((proc / "uptime").read_text(encoding="ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return f"process {pid}"
    since = time.strftime(
        "%H:%M", time.localtime(time.time() - up + ticks / os.sysconf("SC_CLK_TCK"))
    )
    printable = "".join(c if c.isprintable() else "?" for c in command)
    shown = shorten(printable, MOST_SHOWN, placeholder=" ...")
    return f"process {pid} ({shown}; started at {since})"


def during(
    turn: Callable[[], AbstractContextManager[None]], work: Callable[P, R]
) -> Callable[P, R]:
    """Return *work* that waits for its turn."""

    def waits(*args: P.args, **kwargs: P.kwargs) -> R:
        with turn():
            return work(*args, **kwargs)

    return waits


def number(of: int, place: Path | None = None) -> int:
    """Return a number below *of* that no other process has, on this machine and for as long as
    this one lives.
    """
    return _number(os.getpid(), of, place or _place())


@cache
def _number(process: int, of: int, place: Path) -> int:
    return next(
        (number for number in range(of) if _kept(place / f"perflab-{number}.number")), process % of
    )


def _kept(path: Path) -> bool:
    """Lock a file for as long as this process lives, unless somebody else has done so."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    with suppress(OSError):
        lock = os.open(path, flags, 0o600)
        if _taken(lock, fcntl.LOCK_EX):
            return True
        os.close(lock)
    return False


def _place() -> Path:
    return next(path for path in PLACES if os.access(path, os.W_OK))


@contextmanager
def only_one(folder: Path, patience: float = 5.0) -> Iterator[None]:
    """Be the only grader that writes to a folder.

    Its lanes hold the lock with it, so none outlives it unseen.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with _opened(folder / ".grading") as lock:
        end = (
            time.monotonic() + patience
        )  # the lanes of a grader that was just killed take a moment to be gone
        while not _taken(lock, fcntl.LOCK_EX):
            if time.monotonic() > end:
                mend = f"wait for that, {holder(lock)}, or choose another --out"
                raise UserError(f"{folder}: another perflab grades into it; {mend}")
            time.sleep(0.05)
        yield


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    """Open a lock, which may be another user's; a link is not followed."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        try:
            fd = os.open(path, flags)
        except FileNotFoundError:
            fd = os.open(path, flags | os.O_CREAT, 0o644)
            os.fchmod(fd, 0o644)
    except OSError as error:
        raise UserError(
            f"{path}: {error.strerror}; this lock must be a file that every user can read"
        ) from None
    try:
        yield fd
    finally:
        os.close(fd)
