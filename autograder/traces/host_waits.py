"""Calls in which the host waits for a GPU: for which of its work, and until when."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from autograder.traces.events import Array, Events, Kind
from autograder.traces.metrics import SYNC
from autograder.traces.spans import Spans

PAGEABLE = re.compile("(?:HtoD|DtoH).*Pageable")
"""Copies whose call returns when they are done, or at least have begun: behind the queue."""
TO_HOST = re.compile("DtoH")
OTHERS = 64
"""Works that other threads may launch and see done while one thread waits."""


class Queue(NamedTuple):
    """The work of one GPU, in the order in which it began."""

    work: Events
    launched: Array
    """When each was launched, or when it began if its launch was not recorded."""
    returned: Array
    """When the call that launched it returned; before it began if that was not recorded."""

    @classmethod
    def of(cls, work: Events, calls: Events) -> Queue:
        """Sort work, and find what launched it."""
        work = work.where(np.argsort(work.start, kind="stable"))
        launched, returned = work.start.copy(), work.start - 1
        _, launches = work.joined("link", calls)
        recorded = np.isin(work.link, calls.link[calls.link >= 0])
        launched[recorded] = np.minimum(launches.start, work.start[recorded])
        returned[recorded] = launches.end
        return cls(work, launched, returned)

    def until(self, end: int) -> Queue:
        """Keep what began before a time."""
        begun = self.work.start < end
        return Queue(self.work.where(begun), self.launched[begun], self.returned[begun])

    @property
    def free(self) -> Array:
        """Return when each and all before it were done."""
        done: Array = np.maximum.accumulate(self.work.end)
        return done

    def copies(self) -> Array:
        """Return the places of the copies that the host waited for."""
        waited = self.work.start <= self.returned
        places: Array = np.flatnonzero(self.work.found(PAGEABLE) & waited)
        return places


class Waits(NamedTuple):
    """Calls that wait, in the order in which they return."""

    start: Array
    end: Array
    work: Array
    """The place in the queue of what each waits for."""
    until: Array
    """When that was done, or when it began if it is a copy that the call makes itself."""

    @classmethod
    def of(cls, queue: Queue, calls: Events) -> Waits:
        """Find synchronizations and copies from or to pageable memory."""
        syncs, copies = synchronizations(queue, calls), queue.copies()
        last = _last_done(queue, syncs)
        syncs, last = syncs.where(last >= 0), last[last >= 0]
        found = cls(
            np.concatenate([syncs.start, queue.launched[copies]]),
            np.concatenate([syncs.end, queue.returned[copies]]),
            np.concatenate([last, copies]),
            np.concatenate([queue.work.end[last], queue.work.start[copies]]),
        )
        return found.where(np.argsort(found.end, kind="stable"))

    def where(self, chosen: Array) -> Waits:
        """Keep some waits."""
        return Waits(*(column[chosen] for column in self))


NO_WAITS = Waits(*(np.zeros(0, np.int64),) * 4)


def synchronizations(queue: Queue, calls: Events) -> Events:
    """Return the synchronizations of the threads that give this GPU work."""
    syncs = calls.of(Kind.CALL).named(SYNC)
    _, launches = queue.work.joined("link", calls)
    return syncs.where(np.isin(syncs.track, launches.track)) if len(launches) else syncs


def _last_done(queue: Queue, syncs: Events) -> Array:
    """Return what was done last of what was launched before each call, when it returned; else -1."""
    order = np.argsort(queue.work.end, kind="stable")
    launched = np.append(queue.launched[order], 0)
    at = np.searchsorted(queue.work.end[order], syncs.end, side="right") - 1
    for _ in range(OTHERS):
        at = at - ((at >= 0) & (launched[at] > syncs.start))
    known = (at >= 0) & (launched[at] <= syncs.start)
    last: Array = np.where(known, np.append(order, -1)[at], -1)
    return last


def waited(queue: Queue, calls: Events) -> Spans:
    """Return when a thread that gives this GPU work waited for it.

    A copy to the host is waited for itself; one to the GPU lets the call wait for what is queued.
    """
    queued = np.append(queue.launched[:1], queue.free[:-1])
    done = np.where(queue.work.found(TO_HOST), queue.work.end, queued)
    copies = queue.copies()
    until = np.minimum(done, queue.returned)[copies]
    return synchronizations(queue, calls).spans | Spans.of(queue.launched[copies], until)
