"""One running worker: its channel, its output and its limits, in one loop that never blocks on
it.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from autograder.errors import WorkerLostError
from autograder.model import Ended, Kind, Limits
from autograder.sandbox import tree
from autograder.sandbox.box import Box
from autograder.sandbox.card import Gauge
from autograder.sandbox.cgroup import Group
from autograder.sandbox.usage import Inherited, Usage

POLL_SECONDS = 0.02  # a bomb of 1 GB/s is seen 20 MB late
MAX_PROCESSES = 256
LOG_CAP = 32 * 1024  # bytes that are kept of what a worker prints
KILL_SECONDS = 5.0
# A process that dies closes its line first; one that lives on has closed it by itself.
DYING_SECONDS = 0.2


class Stopped(Exception):  # noqa: N818 how a worker ended is no error of ours
    """The worker will not answer: how it ended, that in words, and of what kind it was."""

    def __init__(self, ended: Ended, words: str, kind: Kind = "") -> None:
        """Keep them."""
        super().__init__(words)
        self.ended: Ended = ended
        self.words = words
        self.kind: Kind = kind


@dataclass
class Watched:
    """Supervisor's ends of one worker's descriptors, and what was seen of it so far."""

    channel: socket.socket
    output: int
    status: int
    limits: Limits
    inherited: Inherited = field(default_factory=Inherited)
    box: Box | None = None
    group: Group | None = None
    started: float = field(default_factory=time.monotonic)
    keeper: int | None = None
    log: bytes = b""
    printed: int = 0
    gauge: Gauge | None = None
    closely: bool = False
    """Whether looks may take longer than a moment; never while the clock runs."""
    end: dict[str, Any] | None = None
    left_behind: int = 0
    _inbox: bytearray = field(default_factory=bytearray)
    _told: bytes = b""
    _hung_up: bool = False
    _next_look: float = 0.0
    _what: str = "this part"
    _serve: Callable[[], float] = lambda: POLL_SECONDS
    _bound: bool = False

    def __post_init__(self) -> None:
        """Register the three descriptors; none may ever block us."""
        self._usage = Usage(self.inherited, self.box.held_bytes if self.box else lambda: 0)
        self._selector = selectors.DefaultSelector()
        for fd, handle in (
            (self.channel.fileno(), self._hear),
            (self.output, self._drain),
            (self.status, self._note),
        ):
            os.set_blocking(fd, False)
            self._selector.register(fd, selectors.EVENT_READ, partial(self._take, fd, handle))

    def read(self, n: int) -> bytes:
        """Return exactly n bytes of the channel, or raise `Stopped` with the reason why they
        will never come.
        """
        while len(self._inbox) < n:
            self._check_limits()
            held = len(self._inbox)
            gone = self.end is not None or self._hung_up
            self._pump(0 if gone else min(POLL_SECONDS, self._serve()))
            if gone and len(self._inbox) == held:  # what it said before its end has all been read
                raise self._ended_early()
        data = bytes(self._inbox[:n])
        del self._inbox[:n]
        return data

    def send(self, data: bytes, descriptors: Sequence[int] = ()) -> None:
        """Send a short message at once, or not at all.

        Nobody waits for a worker that does not read.
        """
        self._bind()
        try:
            sent = socket.send_fds(self.channel, [data], descriptors)
        except OSError:
            sent = 0
        if sent < len(data):
            raise (
                self._ended_early()
                if self._hung_up
                else Stopped("refused", "did not read what it was asked")
            )

    def _bind(self) -> None:
        """Put it below the kernel's limit before it hears of any task.

        Until then none of a student's code runs.
        """
        if self.group is None or self._bound:
            return
        self._bound = True
        deadline = time.monotonic() + KILL_SECONDS
        while self.keeper is None and self.end is None and time.monotonic() < deadline:
            self._pump(0.005)
        if self.keeper is not None:
            self.group.take(tree.below(self.keeper))

    def allow(self, seconds: float, what: str) -> None:
        """Start its time again, for *what* it does next."""
        self.started, self.limits, self._what = (
            time.monotonic(),
            replace(self.limits, seconds=seconds),
            what,
        )

    def attend(
        self,
        fd: int,
        hear: Callable[[], None],
        serve: Callable[[], float],
    ) -> None:
        """Hear what it says elsewhere, and serve it, while we read.

        *serve* returns in how many seconds again.
        """
        self._selector.register(fd, selectors.EVENT_READ, hear)
        self._serve = serve

    @property
    def peak_bytes(self) -> int:
        """The most memory that it has held."""
        return self._usage.peak_bytes

    def silent(self) -> bool:
        """Whether it has said nothing that was not read."""
        self._pump(0)
        return not self._inbox

    def processes(self) -> list[int]:
        """Everything that it consists of."""
        return sorted(
            [
                *(tree.below(self.keeper) if self.keeper else ()),
                *(self.box.processes() if self.box else ()),
            ]
        )

    def finish(self) -> None:
        """Kill all that is left, wait until the keeper has buried it, and drain what it printed."""
        if self.box is not None:
            self.left_behind = len(self.box.processes())
            self.box.close()
            self.box = None
        deadline = time.monotonic() + KILL_SECONDS
        while self.end is None and time.monotonic() < deadline:
            if self.keeper is not None:
                tree.kill(tree.below(self.keeper))
            self._pump(0.005)
        if self.end is None and self.keeper is not None:
            tree.kill([*tree.below(self.keeper), self.keeper])
        if self.group is not None:
            self.group.close()
        self._pump(0)
        self._selector.close()
        self.channel.close()
        os.close(self.output)
        os.close(self.status)

    def _pump(self, seconds: float) -> None:
        for key, _ in self._selector.select(seconds):
            with contextlib.suppress(BlockingIOError):
                key.data()

    def _take(self, fd: int, handle: Callable[[bytes], None]) -> None:
        try:
            data = os.read(fd, 1 << 16)
        except ConnectionResetError:
            data = b""
        if not data:
            self._selector.unregister(fd)
        handle(data)

    def _hear(self, data: bytes) -> None:
        self._inbox += data
        self._hung_up = self._hung_up or not data

    def _drain(self, data: bytes) -> None:
        self.printed += len(data)
        self.log = (self.log + data)[-LOG_CAP:]

    def _note(self, data: bytes) -> None:
        """Read the keeper's two lines: its pid, then how it all ended.

        An end without them means it was killed.
        """
        self._told += data
        *lines, self._told = self._told.split(b"\n")
        for line in lines:
            note = json.loads(line)
            if "fault" in note:
                self.end = note
                raise WorkerLostError(note["fault"])
            self.keeper = note.get("pid", self.keeper)
            self.end = note if "status" in note else self.end
        if not data and self.end is None:
            self.end = {"status": None, "cpu_seconds": 0.0, "left_behind": 0}

    def _check_limits(self) -> None:
        now = time.monotonic()
        if now - self.started > self.limits.seconds and self._is_late(now):
            raise Stopped(
                "timeout", f"was stopped after {self.limits.seconds:g} s, the limit of {self._what}"
            )
        if self.printed > self.limits.output_mb << 20:
            raise Stopped(
                "refused", f"printed more than {self.limits.output_mb} MB and was stopped"
            )
        if now >= self._next_look and self.keeper is not None:
            self._next_look = now + POLL_SECONDS
            self.look()

    def _is_late(self, now: float) -> bool:
        """Whether its time is up without what it stood ready for a core, which may be three
        times as long at most.
        """
        seconds = self.limits.seconds
        waited = min(tree.waited_seconds(self.processes()), 3 * seconds)
        return now - self.started - waited > seconds

    def look(self) -> None:
        """Note what it holds; end it where that is too much."""
        pids = self.processes()
        if self.gauge is not None:
            self.gauge.look(pids)
        if len(pids) > MAX_PROCESSES:
            raise Stopped("crash", f"started more than {MAX_PROCESSES} processes and was stopped")
        limit = self.limits.memory_mb << 20
        if (
            self._usage.look(pids) > limit
            or (self.closely and self._usage.over(limit, pids))
            or self._struck()
        ):
            raise self._too_large()

    def _struck(self) -> bool:
        return self.group is not None and self.group.struck()

    def _too_large(self) -> Stopped:
        return Stopped(
            "memory", f"used more than {self.limits.memory_mb} MB of memory, the limit of this part"
        )

    def _ended_early(self) -> Stopped:
        """Put the keeper's account of the end into words.

        The channel may close a moment before it comes.
        """
        begun = time.monotonic()
        killed = False
        while self.end is None and time.monotonic() - begun < KILL_SECONDS:
            if (
                self.keeper is not None
                and self._hung_up
                and time.monotonic() - begun > DYING_SECONDS
            ):
                tree.kill(tree.below(self.keeper))
                killed = True
            self._pump(0.005)
        status = (self.end or {}).get("status")
        if self._struck():
            return self._too_large()
        if status is None:
            return Stopped("crash", "its processes were killed from inside, before it answered")
        if status == os.EX_IOERR or (killed and status == -signal.SIGKILL):
            return Stopped("crash", "your code closed the file descriptor that the grader reads")
        if status < 0:
            return Stopped(
                "crash", f"died of signal {-status} ({_signal_name(-status)}) before it answered"
            )
        return Stopped("crash", f"ended itself with exit status {status} before it answered")


def _signal_name(number: int) -> str:
    names = {s.value: s.name for s in signal.Signals}
    return names.get(number, "unknown")
