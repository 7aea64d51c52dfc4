"""Submissions that come one after the other into a folder: which of them are whole by now, and which is next."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from autograder.errors import UserError
from autograder.handed_in.downloads import Attempt

QUIET_SECONDS = 10.0  # without a change, after which nobody is writing any more
POLL_SECONDS = 2.0

State = tuple[tuple[str, int, int], ...]
"""Of what was handed in: each file with its size in bytes and when it was written, in ns."""
Find = Callable[[], tuple[Sequence[Attempt], Sequence[str]]]


class Arrivals:
    """What lies in the folder, compared with what was there before."""

    def __init__(self, find: Find, now: Callable[[], float], say: Callable[[str], None]) -> None:
        """Nothing was seen yet."""
        self._find, self._now, self._say = find, now, say
        self._since: dict[str, tuple[State, float]] = {}
        self._taken: dict[str, State] = {}
        self._said: set[str] = set()

    def ready(self, most: int) -> list[Attempt]:
        """Take those that stopped growing and were not taken as they are, the last to come first."""
        try:
            found, notes = self._find()
        except UserError as problem:  # half of a download, or nothing yet
            found, notes = (), [str(problem)]
        for note in notes:
            if note not in self._said:
                self._say(note)
        self._said = {*notes}
        states = {one.name: state(path for _, path in one.files) for one in found}
        self._since = {name: self._quiet(name, now) for name, now in states.items()}
        whole = [one for one in found if self._is_whole(one.name)]
        chosen = sorted(
            whole, key=lambda one: max(written for *_, written in states[one.name]), reverse=True
        )[:most]
        self._taken |= {one.name: states[one.name] for one in chosen}
        return chosen

    def _quiet(self, name: str, now: State) -> tuple[State, float]:
        before = self._since.get(name)
        return before if before is not None and before[0] == now else (now, self._now())

    def _is_whole(self, name: str) -> bool:
        now, since = self._since[name]
        return bool(now) and self._taken.get(name) != now and self._now() - since >= QUIET_SECONDS


def state(paths: Iterator[Path]) -> State:
    """Note every file, links as what they are; what vanishes meanwhile is not there."""
    found = []
    for path in paths:
        inside = (Path(home) / name for home, _, names in os.walk(path) for name in names)
        for file in [path, *inside]:
            try:
                seen = file.lstat()
            except OSError:
                continue
            folder = stat.S_ISDIR(seen.st_mode)
            found.append(
                (str(file), 0, 0) if folder else (str(file), seen.st_size, seen.st_mtime_ns)
            )
    return tuple(sorted(found))


def forever(
    arrivals: Arrivals, most: int, sleep: Callable[[float], None]
) -> Iterator[list[Attempt]]:
    """Yield what is to be graded next, a few at a time, since whoever comes meanwhile goes first."""
    while True:
        if some := arrivals.ready(most):
            yield some
        else:
            sleep(POLL_SECONDS)
