"""Processes of one group, forked from this one: what they say is gathered, and what goes wrong is said once."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
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

from autograder.worker.raised import kind_of
from autograder.worker.rigs.returned import BadReturn, text

Place = Callable[[int], Mapping[str, int]]
"""The variables that say which process of the group a rank is, beside RANK and WORLD_SIZE."""


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
    names: list[dict[str, int]] = [
        {"RANK": rank, "WORLD_SIZE": world, **place(rank)} for rank in range(world)
    ]
    files = [folder / f"told{rank}.json" for rank in range(world)]
    children = {
        os.fork() or _become({**names[rank], "MASTER_PORT": port}, work, files[rank]): rank
        for rank in range(world)
    }
    _wait(children, files, seconds)
    return [json.loads(file.read_text()) for file in files]


def _become(
    names: Mapping[str, int],
    work: Callable[[int], dict[str, Any]],
    file: Path,
) -> int:
    os.environ.update({name: str(value) for name, value in names.items()})
    os.environ.update(MASTER_ADDR="127.0.0.1", GLOO_SOCKET_IFNAME="lo")
    answer: dict[str, Any] = {}
    _renew_threads()
    try:
        answer = work(names["RANK"])
    except BaseException as error:
        answer = {
            "error": f"{type(error).__name__}: {error}",
            "unwritten": _unwritten(error),
            "kind": kind_of(error),
        }
        traceback.print_exc()
    finally:
        file.write_text(json.dumps(answer))
        sys.stdout.flush()
        os._exit(0)


def _renew_threads() -> None:
    """Let torch replace the pool of threads that a fork has lost.

    Two threads of gloo would do it at the same time, and one of them would end the process.
    """
    with warnings.catch_warnings(action="ignore"):
        torch.set_num_threads(torch.get_num_threads())


def _wait(children: dict[int, int], files: list[Path], seconds: float) -> None:
    """Wait for all processes; when one fails, or time is up, the others are ended: they wait for it in vain."""
    until, left = _now() + seconds, dict(children)
    try:
        while left:
            done = next((pid for pid in left if os.waitpid(pid, os.WNOHANG)[0]), 0)
            if done:
                rank = left.pop(done)
                _complain(files[rank], rank)
            elif _now() > until:
                raise BadReturn(
                    f"{len(left)} processes did not end: do all of them make the same collective calls?",
                    "unended",
                )
            else:
                _pause(0.005)
    finally:
        for pid in left:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def _complain(file: Path, rank: int) -> None:
    said: dict[str, Any] = {"error": "ended without a word"}
    if file.exists():
        said = json.loads(file.read_text())
    if said.get("unwritten"):
        raise BadReturn(f"{text(said['unwritten'], 60)} is not written yet", "unwritten")
    if "error" in said:
        raise BadReturn(
            f"in the process of rank {rank}: {text(said['error'])}", said.get("kind", "")
        )


def _unwritten(error: BaseException) -> str:
    """Return the function that is not written yet, if that is what happened."""
    there = isinstance(error, NotImplementedError) and not str(error)
    return traceback.extract_tb(error.__traceback__)[-1].name if there else ""
