"""A store that a data set reads from: an answer takes its time, as from a disk far away, and
nobody can hurry it.

A worker asks for a sample with a datagram, from any of its processes. Some milliseconds later
the sample's key lies in memory that the worker can only read. Waiting in the worker's own
process would be a wait that it could leave out.
"""

from __future__ import annotations

import fcntl
import heapq
import mmap
import os
import socket
import struct
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from autograder.protocol.revealed import SEALS

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

LANES = 8  # reads at once, and one a process; more wait their turn
# Who asks before the last answer is there gains nothing: more than asking afterwards takes.
ROUND_TRIP = 0.002
IDLE_SECONDS = 0.02
REQUEST_BYTES = 8
CREDENTIALS = struct.Struct("iII")  # process, user, group


class Store:
    """The supervisor's end of one worker's store."""

    def __init__(self, samples: int, now: Callable[[], float] = time.monotonic) -> None:
        """Make room for the keys of *samples*; nothing is there before `fill`."""
        import numpy as np

        self._now = now
        self.samples = samples
        self._fd = os.memfd_create("store", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.truncate(self._fd, samples * np.dtype(np.uint64).itemsize)
        self._keys: Array = np.frombuffer(mmap.mmap(self._fd, 0), np.uint64)
        fcntl.fcntl(
            self._fd, fcntl.F_ADD_SEALS, SEALS
        )  # this mapping is the last one that can be written to
        self._ours, self._theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._ours.setblocking(False)
        self._ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self.fill(self._keys, self._keys)

    @property
    def asks(self) -> int:
        """Where requests arrive."""
        return self._ours.fileno()

    @property
    def descriptors(self) -> list[int]:
        """What the worker is handed: memory to look into, a socket to ask with."""
        return [self._fd, self._theirs.fileno()]

    def fill(self, keys: Array, seconds: Array) -> None:
        """Put fresh samples in place of all others; each read of one takes its *seconds*."""
        self._hidden = [int(key) for key in keys]
        self._seconds = [float(s) for s in seconds]
        self._lanes = [0.0] * LANES
        self._due = list[tuple[float, int]]()
        self._asked: set[int] = set()
        self._reading: dict[int, float] = {}
        self._keys[:] = 0

    def hear(self) -> None:
        """Take one request, with the kernel's word on which process it is from."""
        request, ancillary, *_ = self._ours.recvmsg(1 << 10, socket.CMSG_SPACE(CREDENTIALS.size))
        for _, kind, data in ancillary:
            if kind == socket.SCM_CREDENTIALS:
                self.note_request(request, CREDENTIALS.unpack(data)[0])

    def note_request(self, request: bytes, process: int) -> None:
        """Note a request, unless it is none.

        Who asks twice is not answered sooner, and who reads is not yet free.
        """
        index = int.from_bytes(request, "little")
        if len(request) != REQUEST_BYTES or index >= self.samples or index in self._asked:
            return
        self._asked.add(index)
        free = self._reading.get(process, 0.0)
        free += ROUND_TRIP if free > self._now() else 0.0
        begins = max(self._now(), heapq.heappop(self._lanes), free)
        self._reading[process] = due = begins + self._seconds[index]
        heapq.heappush(self._lanes, due)
        heapq.heappush(self._due, (due, index))

    def serve(self) -> float:
        """Answer what is due; return in how many seconds more will be."""
        now = self._now()
        while self._due and self._due[0][0] <= now:
            index = heapq.heappop(self._due)[1]
            self._keys[index] = self._hidden[index]
        return min(IDLE_SECONDS, self._due[0][0] - now) if self._due else IDLE_SECONDS

    def close(self) -> None:
        """Give the memory back."""
        os.close(self._fd)
        self._ours.close()
        self._theirs.close()
