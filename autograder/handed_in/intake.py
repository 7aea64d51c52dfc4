"""What is to be graded, from plain folders and from downloads.

Each submission has the name that its result gets.
"""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from autograder.config import LabConfig
from autograder.errors import NOWHERE_TO_WRITE, SubmissionError
from autograder.handed_in import downloads, folders, formats, times
from autograder.handed_in.downloads import Attempt
from autograder.handed_in.late import deadline
from autograder.handed_in.roster import Roster, Student
from autograder.handed_in.submission import name_of, request_in
from autograder.handed_in.times import Handed
from autograder.handed_in.unpack import is_file

# Files below --out, where each submission has a folder:
# tables, pages, keys, the journal as SQLite keeps it, jobs.
OURS = (
    ".csv",
    ".html",
    ".key",
    ".sqlite",
    ".sqlite-wal",
    ".sqlite-shm",
    ".sqlite-journal",
    ".json",
    ".jsonl",
)
TOGETHER = ".together"
"""Below --out, while a run lasts: the loose files of each student."""


@dataclass(frozen=True)
class Intake:
    """What of a course says whose a submission is; downloads.py decides which of several counts."""

    lab: LabConfig
    listed: Collection[str]
    """Files that the lab asks for."""
    roster: Roster | None = None
    every: bool = False
    """Grade every attempt, not one a student."""
    out: Path | None = None
    """Where results go, each to a folder of its name."""

    def find(self, paths: Sequence[Path]) -> tuple[list[Attempt], list[str]]:
        """Return the attempts in folders, archives and downloads, and notes on what is left out."""
        attempts: list[Attempt] = []
        notes: list[str] = []
        for path in paths:
            inside, about = self._below(path)
            attempts += inside
            notes += about
        sound = []
        for attempt in attempts:
            problem = self._misnamed(attempt.name)
            if problem:
                notes.append(f"{_path(attempt)}: {problem}")
            else:
                sound.append(attempt)
        return _apart(sound, notes)

    def _below(self, path: Path) -> tuple[Sequence[Attempt], Sequence[str]]:
        if self._is_class(path):
            download = downloads.find(path, self.lab.name, self.roster, self._due, every=self.every)
            return download.attempts, download.notes
        if downloads.packed(path, self.listed):
            problem = (
                "this looks like the download of a class; unpack it into a folder, and name that"
            )
            return [], [f"{path}: {problem}"]
        inside = folders.find([path], list(self.listed))
        attempts, notes = self._named(inside)
        for name in folders.others(path, inside):
            notes.append(f"{name}: {formats.NO_SUBMISSION}")
        return attempts, notes

    def _misnamed(self, name: str) -> str:
        """Return why there cannot be a folder of this name among the results."""
        taken = self.out is not None and is_file(self.out / name)
        if taken or name.lower().endswith(OURS):
            return f"results cannot be called '{name}', as tables and pages are; rename it"
        return ""

    def _named(self, paths: Sequence[Path]) -> tuple[list[Attempt], list[str]]:
        """Name single submissions; whom the roster does not know is nobody's."""
        if self.roster is None:
            return [_plain(path) for path in paths], []
        attempts = []
        notes = []
        for path in paths:
            student = self.roster.by("student", name_of(path))
            members = (student,) if student else self.roster.members(name_of(path))
            if members:
                attempts.append(Attempt(members[0].owner, Handed(), ((path.name, path),)))
            else:
                notes.append(f"{path.name}: nobody in the roster has student {name_of(path)!r}")
        return attempts, notes

    def _is_class(self, path: Path) -> bool:
        """Whether what is inside has owners.

        That is a download, or with a roster any folder that is no submission itself.
        """
        if not path.is_dir() or any(is_file(path / name) for name in self.listed):
            return False
        return self.roster is not None or downloads.recognised(path, self.lab.name)

    def _due(self, student: Student) -> datetime | None:
        if self.lab.due is None:
            return None
        due = datetime.fromisoformat(self.lab.due)
        return deadline(self.lab.late, due, student.extension_hours)


def _plain(path: Path) -> Attempt:
    return Attempt(name_of(path), Handed(), ((path.name, path),))


def _path(attempt: Attempt) -> Path:
    return attempt.files[0][1]


def _apart(attempts: Sequence[Attempt], notes: Sequence[str]) -> tuple[list[Attempt], list[str]]:
    """Leave out all that have one name: nobody can tell whose the result would be."""
    named: dict[str, list[Attempt]] = defaultdict(list)
    for attempt in attempts:
        named[attempt.name].append(attempt)
    twins = []
    for name, group in named.items():
        if len(group) > 1:
            paths = " and ".join(str(_path(attempt)) for attempt in group)
            twins.append(
                f"{paths}: results of all would be called '{name}'; rename them, or keep one of a group"
            )
    single = [group[0] for group in named.values() if len(group) == 1]
    return single, [*notes, *twins]


@contextmanager
def together(
    attempts: Sequence[Attempt],
    out: Path,
) -> Iterator[tuple[Mapping[str, Path], Sequence[str]]]:
    """Yield one path for each attempt, and notes on what cannot be read.

    When each came for the first time is kept beside the results. Whose files are others now has
    to be read first: the same files again are not late.
    """
    home = out / TOGETHER
    shutil.rmtree(home, ignore_errors=True)  # of a grader that was killed
    paths: dict[str, Path] = {}
    notes: list[str] = []
    try:
        for attempt in attempts:
            try:
                paths[attempt.name] = downloads.collect(attempt, home)
            except OSError as error:
                if error.errno in NOWHERE_TO_WRITE:
                    raise
                reason = error.strerror or error
                notes.append(f"{_path(attempt)}: it cannot be copied: {reason}")
        known = times.read(out)
        new = [it for it in attempts if it.name in paths and it.name not in known]
        yield paths, [*notes, *note(new, out)]
    finally:
        shutil.rmtree(home, ignore_errors=True)


def asked_later(attempt: Attempt) -> str:
    """Return what was asked in an upload after the one that counts."""
    with TemporaryDirectory() as home:
        for number, files in reversed([*enumerate(attempt.later)]):
            upload = Attempt(str(number), Handed(), files)
            with suppress(OSError, SubmissionError):
                if asked := request_in(downloads.collect(upload, Path(home))):
                    return asked
    return ""


def note(attempts: Sequence[Attempt], out: Path) -> Iterator[str]:
    """Write down when each came, and yield what is to be said of it.

    A line that somebody mended stays, until the system it came from has a time.
    """
    before = times.read(out)
    news = {}
    for attempt in attempts:
        handed = attempt.handed
        is_kept = handed.at is None and handed.source == _source(before.get(attempt.name))
        if handed.source and not is_kept:
            news[attempt.name] = handed
    if news:
        times.write(out, {**before, **news})
    for name, handed in news.items():
        known = before.get(name, Handed()).at
        if known and not handed.at:
            yield (
                f"{name}: nobody knows when these files came; {known.isoformat()} was for earlier ones. "
                f"Write the time into {out / times.FILE}, then perflab report {out}"
            )


def rename(attempts: Sequence[Attempt], out: Path) -> None:
    """Write down what the files that were graded are called by now: by this name a page goes back."""
    before = times.read(out)
    named = {it.name: it.handed.source for it in attempts if it.handed.source}
    after = {
        name: replace(handed, source=named.get(name, handed.source))
        for name, handed in before.items()
    }
    if after != before:
        times.write(out, after)


def _source(handed: Handed | None) -> str:
    return handed.source if handed else ""
