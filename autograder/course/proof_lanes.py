"""Several things proved at a time: each lane is a process with warm workers of its own.

Nothing is timed in a lane.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from autograder.grading.kit import Session

# Forked, so that a lane has the labs as they were loaded.
FORK = multiprocessing.get_context("fork")
MOST = 8
"""Lanes at most: each holds torch twice."""
T = TypeVar("T")
Task = Callable[[Session], T]
Open = Callable[[], AbstractContextManager[Session]]


@dataclass(frozen=True)
class Lanes(Generic[T]):
    """How many, and how each begins its session."""

    open: Open
    count: int = 0
    """0: one for each core that this process may use."""

    def __call__(self, tasks: Sequence[Task[T]]) -> Iterator[T]:
        """Do each of them once, and yield what comes back in their order."""
        count = min(self.count or len(os.sched_getaffinity(0)), MOST, len(tasks))
        if count == 1:
            with self.open() as session:
                yield from (task(session) for task in tasks)
        elif count:
            with ProcessPoolExecutor(count, FORK, _begin, (self.open, tasks)) as pool:
                yield from pool.map(_do, range(len(tasks)))


_held = ExitStack()
_session: Session
_tasks: Sequence[Task[object]]


def _begin(open_: Open, tasks: Sequence[Task[object]]) -> None:
    # This process does nothing else.
    global _session, _tasks  # noqa: PLW0603
    _session = _held.enter_context(open_())
    _tasks = tasks


def _do(index: int) -> Any:
    return _tasks[index](_session)
