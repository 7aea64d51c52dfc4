"""A machine that is not there: what a process that torchrun started would see on it, and what it asks for."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from types import ModuleType
from typing import Any, Self
from unittest import mock

import torch
import torch.distributed as dist

from autograder.worker import rig as worker
from autograder.worker.rigs.returned import text


class Machine:
    """A context: so many GPUs seem to be there, and joining a process group is noted and nothing more."""

    def __init__(
        self, student: ModuleType, *, gpus: int, rank: int, local_rank: int, world: int
    ) -> None:
        """Be the process of this rank; *world* are the processes on all machines."""
        self._student, self._gpus, self._rank, self._world = student, gpus, rank, world
        here = {"RANK": rank, "LOCAL_RANK": local_rank, "WORLD_SIZE": world, "MASTER_PORT": 29500}
        self._environment = {
            "MASTER_ADDR": "127.0.0.1",
            **{name: str(value) for name, value in here.items()},
        }
        self._current = 0
        self.joined: list[dict[str, Any]] = []
        """The backend, rank and number of processes of each group that was joined; an empty backend: any."""

    def __enter__(self) -> Self:
        self._stack = ExitStack()
        self._stack.enter_context(mock.patch.dict(os.environ, self._environment))
        for module, fakes in ((torch.cuda, self._cuda()), (dist, self._group())):
            for name, fake in fakes.items():
                self._replace(module, name, fake)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def named(self, device: Any) -> str:
        """Return a device in words; the GPU without a number is the current one."""
        return f"cuda:{self._current}" if str(device) == "cuda" else text(device, 60)

    def _replace(self, module: ModuleType, name: str, fake: Callable[..., Any]) -> None:
        real = getattr(module, name)
        self._stack.enter_context(mock.patch.object(module, name, fake))
        for own, value in list(vars(self._student).items()):
            if value is real:  # from torch.distributed import init_process_group
                self._stack.enter_context(mock.patch.object(self._student, own, fake))

    def _cuda(self) -> dict[str, Callable[..., Any]]:
        return {
            "is_available": lambda: self._gpus > 0,
            "device_count": lambda: self._gpus,
            "set_device": self._set_device,
            "current_device": lambda: self._current,
        }

    def _set_device(self, device: Any) -> None:
        self._current = device if isinstance(device, int) else torch.device(device).index or 0

    def _group(self) -> dict[str, Callable[..., Any]]:
        return {
            "init_process_group": self._join,
            "is_initialized": lambda: bool(self.joined),
            "get_rank": lambda *_, **__: self._rank,
            "get_world_size": lambda *_, **__: self._world,
            "barrier": lambda *_, **__: None,
        }

    def _join(
        self, backend: Any = None, *_: Any, rank: Any = -1, world_size: Any = -1, **__: Any
    ) -> None:
        counts = {
            "rank": self._rank if rank == -1 else rank,
            "world": self._world if world_size == -1 else world_size,
        }
        self.joined.append(
            {"backend": text(backend or "", 60), **{name: int(it) for name, it in counts.items()}}
        )


class Rig(worker.Rig):
    """The toolkit of this part's probes."""

    machine = Machine
