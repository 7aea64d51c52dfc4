"""Whose turn it is on a machine: many untimed workers at a time, or one timed pair alone.

Locks of files in one fixed place, so they hold across processes and users, and end with the process that held them.
Each device has two: who wants in passes the gate, who works holds the work. Who wants to be alone keeps the gate while
it waits, so nothing new starts. The processor is one device; a GPU is another, and who times on it lets nobody time on
the processor meanwhile.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import ParamSpec, TypeVar

from autograder.errors import UserError

PLACES = (Path("/run/lock"), Path("/tmp"))  # noqa: S108 one place for all users; never written to, only locked
CPU = "cpu"
P = ParamSpec("P")
R = TypeVar("R")


class Turns:
    """The turns of one device: the processor, or a GPU by its UUID."""

    def __init__(self, device: str = CPU, place: Path | None = None) -> None:
        """Nothing is locked yet."""
        self._place = place or _place()
        self._device = device

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
            fcntl.flock(gate, fcntl.LOCK_EX)
            fcntl.flock(work, how)
            if how == fcntl.LOCK_SH:
                fcntl.flock(gate, fcntl.LOCK_UN)
            yield


def during(turn: Callable[[], AbstractContextManager[None]], work: Callable[P, R]) -> Callable[P, R]:
    """Return *work* that waits for its turn."""

    def waits(*args: P.args, **kwargs: P.kwargs) -> R:
        with turn():
            return work(*args, **kwargs)

    return waits


def number(of: int, place: Path | None = None) -> int:
    """Return a number below *of* that no other process has, on this machine and for as long as this one lives."""
    return _number(os.getpid(), of, place or _place())


@cache
def _number(process: int, of: int, place: Path) -> int:
    return next((found for found in range(of) if _taken(place / f"perflab-{found}.number")), process % of)


def _taken(path: Path) -> bool:
    """Lock a file for as long as this process lives, unless somebody else has done so."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    with suppress(OSError):
        lock = os.open(path, flags, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            raise
        return True
    return False


def _place() -> Path:
    return next(path for path in PLACES if os.access(path, os.W_OK))


@contextmanager
def only_one(folder: Path, patience: float = 5.0) -> Iterator[None]:
    """Be the only grader that writes to a folder; its lanes hold the lock with it, so none outlives it unseen."""
    folder.mkdir(parents=True, exist_ok=True)
    with _opened(folder / ".grading") as lock:
        end = time.monotonic() + patience  # the lanes of a grader that was just killed take a moment to be gone
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    mend = "wait for that, or choose another --out"
                    raise UserError(f"{folder}: another perflab grades into it; {mend}") from None
                time.sleep(0.05)
        yield


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    """Open a lock, which may be another user's; a link is not followed."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        try:
            found = os.open(path, flags)
        except FileNotFoundError:
            found = os.open(path, flags | os.O_CREAT, 0o644)
            os.fchmod(found, 0o644)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}; this lock must be a file that every user can read") from None
    try:
        yield found
    finally:
        os.close(found)
