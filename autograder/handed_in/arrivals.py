"""Submissions that come one after the other into a folder.

Which are whole, and which is next.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from autograder.errors import UserError
from autograder.handed_in.downloads import Attempt
from autograder.handed_in.unpack import passed_over

QUIET_SECONDS = 10.0
"""Without a change, after which nobody is writing any more."""
POLL_SECONDS = 2.0

State = tuple[tuple[str, int, int], ...]
"""Of what was handed in: each file with its size in bytes and when it was written, in ns."""
Find = Callable[[], tuple[Sequence[Attempt], Sequence[str]]]


class Arrivals:
    """What lies in the folder, compared with what was there before."""

    def __init__(
        self,
        find: Find,
        now: Callable[[], float],
        say: Callable[[str], None],
        left: Callable[[Sequence[str]], None] = lambda _: None,
    ) -> None:
        """Begin without any submission; *left* is told what is graded for nobody, whenever that changes."""
        self._find = find
        self._now = now
        self._say = say
        self._since: dict[str, tuple[State, float]] = {}
        self._taken: dict[str, State] = {}
        self._left = left
        self._noted: list[str] | None = None

    def ready(self, most: int) -> list[Attempt]:
        """Take those that stopped growing and were not taken as they are, the last to come
        first.
        """
        chosen = self._look()[:most]
        self._taken |= {attempt.name: self._since[attempt.name][0] for attempt in chosen}
        return chosen

    def outside(self) -> tuple[list[str], list[str]]:
        """Name who is whole and was not taken yet, the next one first, and whose files still change."""
        whole = [attempt.name for attempt in self._look()]
        news = [name for name, (current, _) in self._since.items() if self._is_new(name, current)]
        return whole, sorted(set(news) - set(whole))

    def _look(self) -> list[Attempt]:
        attempts = self._attempts()
        states = {attempt.name: state(_all_of(attempt)) for attempt in attempts}
        self._since = {name: self._quiet(name, current) for name, current in states.items()}
        whole = [attempt for attempt in attempts if self._is_whole(attempt.name)]
        return sorted(whole, key=lambda attempt: _last_written(states[attempt.name]), reverse=True)

    def _attempts(self) -> Sequence[Attempt]:
        try:
            attempts, notes = self._find()
        except UserError as problem:  # half of a download, or nothing yet
            attempts = ()
            notes = [str(problem)]
        for note in notes:
            if note not in (self._noted or ()):
                self._say(note)
        if notes != self._noted:
            self._left(notes)
        self._noted = list(notes)
        return attempts

    def _quiet(self, name: str, current: State) -> tuple[State, float]:
        before = self._since.get(name)
        if before is not None and before[0] == current:
            return before
        return current, self._now()

    def _is_whole(self, name: str) -> bool:
        current, since = self._since[name]
        return self._is_new(name, current) and self._now() - since >= QUIET_SECONDS

    def _is_new(self, name: str, current: State) -> bool:
        return bool(current) and self._taken.get(name) != current


def _all_of(attempt: Attempt) -> Iterator[Path]:
    return (path for files in (attempt.files, *attempt.later) for _, path in files)


def _last_written(files: State) -> int:
    return max(written for *_, written in files)


def state(paths: Iterator[Path]) -> State:
    """Note every file, links as what they are; what vanishes meanwhile is left out.

    What is hidden is left out too: checking a folder writes there and changes no work.
    """
    files = []
    for path in paths:
        for file in [path, *_inside(path)]:
            try:
                status = file.lstat()
            except OSError:
                continue
            if stat.S_ISDIR(status.st_mode):
                files.append((str(file), 0, 0))
            else:
                files.append((str(file), status.st_size, status.st_mtime_ns))
    return tuple(sorted(files))


def _inside(path: Path) -> Iterator[Path]:
    for home, _, names in os.walk(path):
        for file in (Path(home) / name for name in names):
            if not passed_over(file.relative_to(path).parts):
                yield file


def forever(
    arrivals: Arrivals,
    most: int,
    sleep: Callable[[float], None],
) -> Iterator[list[Attempt]]:
    """Yield what is next, a few at a time, since whoever comes meanwhile goes first."""
    while True:
        attempts = arrivals.ready(most)
        if attempts:
            yield attempts
        else:
            sleep(POLL_SECONDS)
