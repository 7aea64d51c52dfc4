"""A bar on memory of a GPU, proved: a trusted process takes all of the card but so much, and the
work has to finish.

How often anybody looked does not matter then, nor what a process calls its memory. Two controls
come first, both of them runs of the baseline: in as much as it took it must finish, else too
little was left; in what the student is given it must not, else the bar tells nobody apart.

Run as a program (python -m autograder.sandbox.ballast BYTES) it is the ballast, until its input
ends.
"""

from __future__ import annotations

import ctypes
import os
import select
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from autograder.errors import OwedError, SpoiltError
from autograder.machine.device import VISIBLE
from autograder.model import Job, Observation
from autograder.sandbox.card import Card

START_SECONDS = 60.0
SLACK = (
    32 << 20
)  # left beyond what is asked for, and how far from that the card may be; chosen, not measured
GRAIN = 2 << 20  # CUDA takes memory of a card in such pieces


@dataclass(frozen=True)
class Ballast:
    """Runs a student's job in little memory of the GPU.

    Whoever calls it is alone on the card.
    """

    run: Callable[[Job], Observation]
    """In a fresh worker, even for a baseline that has answered already."""
    card: Card

    def __call__(self, student: Job, baseline: Job, full: int, room: int) -> Observation:
        """Run it in *room* bytes, where the baseline took *full*."""
        if self._within(baseline, full).ended != "ok":
            raise SpoiltError(
                f"the baseline took {full / 1e6:.0f} MB, and did not finish when so much was left"
            )
        if self._within(baseline, room).ended == "ok":
            raise SpoiltError(f"the baseline, too, finished in {room / 1e6:.0f} MB")
        return self._within(student, room)

    def _within(self, job: Job, room: int) -> Observation:
        with _laid(self.card, room + SLACK):
            return self.run(job)


@contextmanager
def _laid(card: Card, room: int) -> Iterator[None]:
    """Leave *room* bytes of the card free; after the work, as many have to be free again."""
    if (free := card.memory().free) < room:
        raise OwedError(
            f"the GPU has {free / 1e6:.0f} MB free, and {room / 1e6:.0f} MB are asked for"
        )
    command = [sys.executable, "-I", "-m", "autograder.sandbox.ballast", str(room)]
    environ = {**os.environ, VISIBLE: card.uuid}
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environ)
    try:
        assert process.stdout is not None
        heard = select.select([process.stdout], [], [], START_SECONDS)[0]
        said = os.read(process.stdout.fileno(), 4096) if heard else b""
        if said != b"held\n":
            raise OwedError(
                f"no ballast could be laid on the GPU: {said.decode().strip() or 'it said nothing'}"
            )
        _check(process, card, room)
        yield
        _check(process, card, room)
    finally:
        process.kill()
        process.communicate()


def _check(process: subprocess.Popen[bytes], card: Card, room: int) -> None:
    if process.poll() is not None:
        raise SpoiltError("the ballast on the GPU was gone before its time")
    if abs((free := card.memory().free) - room) > SLACK:
        measured = f"{free / 1e6:.0f} MB of the GPU were free where {room / 1e6:.0f} MB were left"
        raise SpoiltError(f"{measured}: somebody else used it")


def hold(room: int) -> None:
    """Take all of the card but *room* bytes; they are free again when this process ends."""
    cuda = ctypes.CDLL("libcuda.so.1")

    def call(name: str, *arguments: Any) -> None:
        if code := getattr(cuda, name)(*arguments):
            raise OSError(f"{name} answered {code}")

    device = ctypes.c_int()
    context = ctypes.c_void_p()
    address = ctypes.c_uint64()
    free = ctypes.c_size_t()
    total = ctypes.c_size_t()
    most = sys.maxsize
    call("cuInit", 0)
    call("cuDeviceGet", ctypes.byref(device), 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    call("cuCtxSetCurrent", context)
    while most >= GRAIN:
        call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        piece = min(free.value - room, most) // GRAIN * GRAIN
        if piece <= 0:
            return
        if cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(piece)):
            most = piece // 2  # not all that is free need be in one piece


if __name__ == "__main__":
    try:
        hold(int(sys.argv[1]))
        print("held", flush=True)
        sys.stdin.read()
    except (OSError, AttributeError) as problem:
        print(problem, flush=True)
