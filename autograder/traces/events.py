"""What a profiler recorded, whichever one.

Events in columns, on whole nanoseconds from one origin.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from typing import Any

import numpy as np

from autograder.errors import SubmissionError
from autograder.traces.operators import Work
from autograder.traces.spans import Spans

Array = np.ndarray[Any, Any]

MOST_EVENTS = 4_000_000
MOST_NAMES = 100_000
MOST_WORKS = 20_000
NAME_CHARS = 400
FURTHEST = 2**62  # ns


class Kind(IntEnum):
    """What ran. The first five ran on a GPU."""

    KERNEL = 0
    COMM = 1
    COPY = 2
    SET = 3
    GRAPH = 4
    OP = 5
    CALL = 6
    MARK = 7


ON_GPU = (Kind.KERNEL, Kind.COMM, Kind.COPY, Kind.SET, Kind.GRAPH)
KERNELS = (Kind.KERNEL, Kind.COMM)

COMM_KERNEL = re.compile(
    r"nccl|rccl|oneccl|nvshmem|multimem_all_|symm_mem|cross_device_reduce", re.IGNORECASE
)
STEP = re.compile(r"ProfilerStep\s*#?(\d+)")
LOADER = re.compile(r"DataLoader.*__next__|enumerate\(DataLoader\)")


class Recording:
    """Events in columns; times may be read once all are in."""

    COLUMNS = ("kind", "start", "end", "name", "device", "track", "link", "size", "op", "work")

    def __init__(self) -> None:
        """Start empty."""
        self._columns = {column: array("q") for column in self.COLUMNS}
        self._load = array("d")
        self._ids: dict[str, int] = {}
        self._tracks: dict[Any, int] = {}
        self._works: dict[Work, int] = {}
        self.first = FURTHEST
        self.last = -FURTHEST
        self.unread = 0
        """How many could not be read."""

    def __len__(self) -> int:
        """Count the events."""
        return len(self._load) // 2

    def add(
        self,
        kind: Kind,
        start: int,
        end: int,
        name: str,
        *,
        device: int = 0,
        track: Any = 0,
        link: int = -1,
        size: int = 0,
        op: int = -1,
        work: Work | None = None,
        blocks: float = np.nan,
        occupancy: float = np.nan,
    ) -> None:
        """Take one event; *track* is its stream or thread, *link* joins a call with what it
        started, *work* is what an operator computes.
        """
        if len(self) == MOST_EVENTS:
            raise SubmissionError(f"more than {MOST_EVENTS:,} events; record fewer steps")
        self.saw(start, end)
        where = (device, self._track(track), link, size, op, self._work(work))
        values = (kind, start, end, self.name_id(name), *where)
        for column, value in zip(self._columns.values(), values, strict=True):
            column.append(value)
        self._load.extend((blocks, occupancy))

    def saw(self, start: int, end: int) -> None:
        """Widen the recording by an event, kept or not."""
        self.first = min(self.first, start)
        self.last = max(self.last, end)

    def name_id(self, name: str) -> int:
        """Number a name; when there are too many, the rest share one."""
        name = name[:NAME_CHARS]
        if name not in self._ids and len(self._ids) >= MOST_NAMES:
            name = "(other names)"
        return self._ids.setdefault(name, len(self._ids))

    def _track(self, track: Any) -> int:
        return self._tracks.setdefault(track, len(self._tracks))

    def _work(self, work: Work | None) -> int:
        if work is None or (work not in self._works and len(self._works) >= MOST_WORKS):
            return -1
        return self._works.setdefault(work, len(self._works))

    def events(self, since: int = 0) -> Events:
        """Return what was taken so far; *since* is what its times count from."""
        columns = {name: np.array(column, np.int64) for name, column in self._columns.items()}
        load = np.array(self._load).reshape(-1, 2)
        origin = self.first if self.first <= self.last else 0
        columns["start"] -= origin
        columns["end"] -= origin
        return Events(
            **columns,
            blocks=load[:, 0],
            occupancy=load[:, 1],
            names=list(self._ids),
            works=list(self._works),
            origin=since + origin,
            length=max(self.last - self.first, 0),
        )


@dataclass(frozen=True)
class Events:
    """Columns of one length, and the names that `name` counts through."""

    kind: Array
    start: Array
    end: Array
    name: Array
    device: Array
    track: Array
    link: Array
    size: Array
    op: Array
    work: Array
    """Index in *works* of what an operator computes; -1 where nobody can say."""
    blocks: Array = field(repr=False)
    """Blocks per multiprocessor, of kernels; NaN where it was not recorded."""
    occupancy: Array = field(repr=False)
    names: list[str] = field(repr=False)
    works: list[Work] = field(repr=False)
    origin: int = 0
    """What the file calls the time 0 of these columns."""
    length: int = 0

    def __len__(self) -> int:
        """Count the events."""
        return len(self.kind)

    def where(self, chosen: Array) -> Events:
        """Keep some events."""
        columns = {
            name: getattr(self, name)[chosen]
            for name in (*Recording.COLUMNS, "blocks", "occupancy")
        }
        return Events(
            **columns,
            names=self.names,
            works=self.works,
            origin=self.origin,
            length=self.length,
        )

    def of(self, *kinds: Kind) -> Events:
        """Keep some kinds."""
        return self.where(np.isin(self.kind, kinds))

    def named(self, wanted: re.Pattern[str] | Callable[[str], Any]) -> Events:
        """Keep the events whose names a pattern finds."""
        return self.where(self.found(wanted))

    def found(self, wanted: re.Pattern[str] | Callable[[str], Any]) -> Array:
        """Say of each event whether a pattern finds its name."""
        matches = wanted.search if isinstance(wanted, re.Pattern) else wanted
        ids = [i for i in np.unique(self.name).tolist() if matches(self.names[i])]
        return np.isin(self.name, ids)

    def joined(self, column: str, other: Events) -> tuple[Events, Events]:
        """Pair events that share a number in a column, event by event.

        The first of the other's counts.
        """
        other = other.where(getattr(other, column) >= 0)
        other = other.where(np.argsort(getattr(other, column), kind="stable"))
        mine = getattr(self, column)
        others = getattr(other, column)
        index = np.searchsorted(others, mine)
        matched = index < len(other)
        matched[matched] = others[index[matched]] == mine[matched]
        return self.where(matched), other.where(index[matched])

    @cached_property
    def spans(self) -> Spans:
        """When at least one of them ran."""
        return Spans.of(self.start, self.end)

    @property
    def durations(self) -> Array:
        """Nanoseconds of each."""
        return self.end - self.start
