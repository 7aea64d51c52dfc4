"""Processes of one group, forked from this one: what they say is gathered, and what goes wrong is said once."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path

# Real time: bound before a probe moves the clock.
from time import (
    monotonic as _now,
)
from time import sleep as _pause
from typing import Any

import torch

from autograder.model import Kind
from autograder.worker.raised import function_of, in_words, kind_of
from autograder.worker.rigs import call_order
from autograder.worker.rigs.returned import BadReturn, text

Place = Callable[[int], Mapping[str, int]]
"""The variables that say which process of the group a rank is, beside RANK and WORLD_SIZE."""
ORDER, ANSWER = "order", "answer"
TORN = ("onnection", "Broken pipe", "gloo")
"""Words of errors that another process has caused."""
APART: Kind = "apart"
"""The kind of end where processes of a group do different things, or one is gone."""
EARLY: Kind = "left early"
"""And where one returned before the others had made their calls."""


def together(
    world: int,
    place: Place,
    work: Callable[[int], dict[str, Any]],
    folder: Path,
    seconds: float,
) -> list[dict[str, Any]]:
    """Let each rank do its *work* as torchrun would start it; return what each says, as plain values."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    homes = Path(tempfile.mkdtemp(prefix="group", dir=folder))
    group = _Group(homes, seconds)
    try:
        for rank in range(world):
            names = {"RANK": rank, "WORLD_SIZE": world, "MASTER_PORT": port, **place(rank)}
            group.add(os.fork() or _become(names, work, homes))
        return group.answers()
    finally:
        group.end()


def _become(names: Mapping[str, int], work: Callable[[int], dict[str, Any]], homes: Path) -> int:
    rank = names["RANK"]
    os.setpgid(0, 0)
    os.environ.update({name: str(value) for name, value in names.items()})
    os.environ.update(MASTER_ADDR="127.0.0.1", GLOO_SOCKET_IFNAME="lo")
    _renew_threads()
    _hide_gpus()
    try:
        with call_order.Order(homes / f"{ORDER}{rank}"):
            answer = json.dumps(work(rank))
    except BaseException as error:
        answer = json.dumps(_failed(error))
        traceback.print_exc()
    half = homes / f"half{rank}"
    half.write_text(answer)
    half.rename(homes / f"{ANSWER}{rank}")
    sys.stdout.flush()
    while True:  # the first to end would take the connection of the others along
        signal.pause()


def _hide_gpus() -> None:
    """Processes of one group cannot share a GPU."""
    torch.cuda.is_available = lambda: False
    torch.cuda.device_count = lambda: 0


def _failed(error: BaseException) -> dict[str, Any]:
    return {
        "error": in_words(error, Path(*sys.path[:1])),  # which a submission may have emptied
        "unwritten": _unwritten(error),
        "kind": kind_of(error),
        "torn": isinstance(error, RuntimeError) and any(word in str(error) for word in TORN),
    }


def _renew_threads() -> None:
    """Let torch replace the pool of threads that a fork has lost.

    Two threads of gloo would do it at the same time, and one of them would end the process.
    """
    with warnings.catch_warnings(action="ignore"):
        torch.set_num_threads(torch.get_num_threads())


def _unwritten(error: BaseException) -> str:
    """Return the function that is not written yet, if that is what happened."""
    there = isinstance(error, NotImplementedError) and not str(error)
    return function_of(error) if there else ""


class _Group:
    """The processes of a group, seen by the one that they were forked from."""

    def __init__(self, homes: Path, seconds: float) -> None:
        self._homes, self._seconds, self._until = homes, seconds, _now() + seconds
        self._pids: list[int] = []
        self._ended: dict[int, int] = {}
        """By rank, how a process has ended by itself: its status, or minus its signal."""
        self._answers: dict[int, dict[str, Any]] = {}

    def add(self, pid: int) -> None:
        self._pids.append(pid)
        with contextlib.suppress(OSError):  # it may have done so itself
            os.setpgid(pid, pid)

    def answers(self) -> list[dict[str, Any]]:
        """Wait for all of them; say what went wrong once that is certain, or time is up."""
        while True:
            late = _now() > self._until
            self._look()
            self._complain(late)
            if len(self._answers) == len(self._pids):
                return [self._answers[rank] for rank in range(len(self._pids))]
            _pause(0.01)

    def end(self) -> None:
        """End all of them, with the processes that they have started."""
        for rank, pid in enumerate(self._pids):
            with contextlib.suppress(OSError):
                os.killpg(pid, signal.SIGKILL)
            if rank not in self._ended:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)

    def _look(self) -> None:
        # First who has ended: whoever caused that has answered by now.
        for rank, pid in enumerate(self._pids):
            if rank not in self._ended:
                done, status = os.waitpid(pid, os.WNOHANG)
                if done:
                    self._ended[rank] = os.waitstatus_to_exitcode(status)
        for rank in range(len(self._pids)):
            file = self._homes / f"{ANSWER}{rank}"
            if rank not in self._answers and file.exists():
                self._answers[rank] = json.loads(file.read_text())

    def _complain(self, late: bool) -> None:
        """Raise the first reason of these; errors that another process may have caused come last."""
        failed = {rank: own for rank, own in self._answers.items() if "error" in own}
        for rank, own in failed.items():
            if own["unwritten"]:
                raise BadReturn(f"{text(own['unwritten'], 60)} is not written yet", "unwritten")
            if not own["torn"]:
                raise BadReturn(_raised(rank, own), own["kind"])
        calls = [call_order.read(self._homes / f"{ORDER}{rank}") for rank in range(len(self._pids))]
        if why := call_order.mismatch(calls):
            raise BadReturn(why, EARLY if call_order.RETURNS in why else APART)
        left = {rank: how for rank, how in self._ended.items() if rank not in self._answers}
        for rank, how in left.items():
            if how != -signal.SIGABRT:
                raise BadReturn(_left(rank, how, calls), APART)
        returned = [rank for rank in self._answers if rank not in failed]
        for rank in returned:
            if waits := call_order.ahead(calls, rank):
                early = call_order.early(calls[rank])
                raise BadReturn(f"rank {rank} returned{early}, and {waits}", EARLY)
        over = len(failed) + len(left) + len(returned) == len(self._pids)
        if over or late:
            if failed and returned and not left:
                said = f"rank {returned[0]} returned{call_order.early(calls[returned[0]])}"
                raise BadReturn(f"{said} while rank {min(failed)} was at work with it", EARLY)
            self._last(failed, left, calls, late and not over)

    def _last(
        self,
        failed: Mapping[int, dict[str, Any]],
        left: Mapping[int, int],
        calls: list[list[dict[str, Any]]],
        late: bool,
    ) -> None:
        """Raise what there is when nothing more will come."""
        for rank, how in left.items():
            raise BadReturn(_left(rank, how, calls), APART)
        for rank, own in failed.items():
            raise BadReturn(_raised(rank, own), own["kind"])
        if late:
            running = [rank for rank in range(len(self._pids)) if rank not in self._answers]
            raise BadReturn(_unended(running, calls, self._seconds), "unended")


def _raised(rank: int, own: Mapping[str, Any]) -> str:
    return f"in the process of rank {rank}: {text(own['error'], 800)}"


def _left(rank: int, how: int, calls: list[list[dict[str, Any]]]) -> str:
    """Say how a process ended that has not returned."""
    early = call_order.early(calls[rank])
    if how >= 0:
        return f"rank {rank} left: its process ended with status {how}{early}"
    name = signal.Signals(-how).name
    made = [call for call in calls[rank] if not call_order.early([call])]
    last = f", whose last collective call {call_order.words(made[-1])}" if made else early
    aborted = "; what gloo or C++ said is in the log" if how == -signal.SIGABRT else ""
    return f"rank {rank} died: {name} ended its process{last}{aborted}"


def _unended(running: list[int], calls: list[list[dict[str, Any]]], seconds: float) -> str:
    """Say which processes did not end, and what they wait for."""
    for rank in running:
        if waits := call_order.ahead(calls, rank):
            return f"rank {rank} did not end within {seconds:g} s, and {waits}"
    ranks = " and ".join(map(str, running))
    several = f"rank{'s' * (len(running) > 1)} {ranks}"
    return (
        f"{several} did not end within {seconds:g} s: a loop without an end, "
        "or a wait for something that never comes"
    )
