"""A recording again, without a part of the host's time.

Everything behind that part moves forward. The GPU does the same work in the same order as soon as
it is launched, and a call that waits for the GPU returns when the work that it waits for is done.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from autograder.traces.events import FURTHEST
from autograder.traces.host_waits import Queue, Waits
from autograder.traces.spans import Spans
from autograder.traces.stretch import Stretch


def replayed(queue: Queue, waits: Waits, removed: Spans, where: Stretch) -> int:
    """Return how long the window takes when the host does not spend *removed*, a part of it.

    Without anything removed it takes what it took. What ran after the end of the window stays out.
    """
    queue = queue.until(where[1])
    known = waits.work < len(queue.work)
    waits = waits.where(known & (waits.end <= where[1]) & ~removed.hold(waits.start))
    ends, late = _again(_works(queue, waits, removed), _calls(queue, waits, removed))
    inside = np.array(ends, np.int64) - np.maximum(queue.free - where[1], 0)
    host = where[1] - removed.length + late
    return int(max(host, inside.max(initial=host))) - where[0]


class _Work(NamedTuple):
    """A piece of work, were the host never late."""

    own: int
    """When it begins if nothing is before it."""
    behind: int
    """How long after what is before it, at least."""
    length: int
    waits: int
    """How many waits return before it is launched."""


class _Call(NamedTuple):
    """A call that waits, were the host never late."""

    start: int
    end: int
    tail: int
    """How long it takes to return once the wait is over."""
    work: int
    """What it waits for, and how long before the end of that the wait is over."""
    early: int
    waits: int
    """How many waits return before it begins."""


def _again(works: Sequence[_Work], calls: Sequence[_Call]) -> tuple[list[int], int]:
    """Return when each work ends, with all before it, and how much later the host is at last."""
    ends: list[int] = []
    late = [0]
    done = -FURTHEST
    for work in works:
        _wait(calls[len(late) - 1 : work.waits], ends, late)
        done = max(done + work.behind, work.own + late[work.waits]) + work.length
        ends.append(done)
    _wait(calls[len(late) - 1 :], ends, late)
    return ends, late[-1]


def _wait(calls: Sequence[_Call], ends: Sequence[int], late: list[int]) -> None:
    """Let calls return when their work is done, and note how late the host is then."""
    for call in calls:
        over = max(call.start + late[call.waits], ends[call.work] - call.early)
        late.append(over + call.tail - call.end)


def _works(queue: Queue, waits: Waits, removed: Spans) -> list[_Work]:
    """Place each behind what began before it, or after its own launch if that is later.

    What overlapped what began before it overlaps it by as much.
    """
    start, launched = queue.work.start, queue.launched
    free = np.append(launched[:1] - 1, queue.free[:-1])
    behind, queued = start - free, launched <= free
    usual = max(int(np.median(behind[queued])), 0) if queued.any() else 0
    columns = (
        launched - removed.before(launched) + np.where(queued, 0, start - launched),
        np.where(queued, behind, np.minimum(behind, usual)),
        queue.free - start,
        np.searchsorted(waits.end, launched),
    )
    return [_Work(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]


def _calls(queue: Queue, waits: Waits, removed: Spans) -> list[_Call]:
    columns = (
        waits.start - removed.before(waits.start),
        waits.end - removed.before(waits.end),
        waits.end - np.maximum(waits.until, waits.start),
        waits.work,
        queue.free[waits.work] - waits.until,
        np.searchsorted(waits.end, waits.start),
    )
    return [_Call(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]
