"""What is to be graded: submissions by the names that their results get, from plain folders and from downloads."""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from autograder.config import LabConfig
from autograder.errors import NOWHERE_TO_WRITE
from autograder.handed_in import downloads, folders, times
from autograder.handed_in.downloads import Attempt
from autograder.handed_in.late import deadline
from autograder.handed_in.roster import Roster, Student
from autograder.handed_in.submission import name_of
from autograder.handed_in.times import Handed
from autograder.handed_in.unpack import is_file

# Files below --out, where each submission has a folder: tables, pages, keys, the journal as SQLite keeps it, jobs.
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
TOGETHER = ".together"  # below --out, while a run lasts: the loose files of each student


@dataclass(frozen=True)
class Intake:
    """What of a course says whose a submission is, and which of several counts."""

    lab: LabConfig
    listed: Collection[str]
    """Files that the lab asks for."""
    roster: Roster | None = None
    every: bool = False
    """Grade every attempt, not one a student."""
    out: Path | None = None
    """Where results go, each to a folder of its name."""

    def find(self, paths: Sequence[Path]) -> tuple[list[Attempt], list[str]]:
        """Name the attempts in folders, archives and downloads, and say what is left out, and why."""
        found: list[Attempt] = []
        notes: list[str] = []
        for path in paths:
            if self._is_class(path):
                said = downloads.find(path, self.lab.name, self.roster, self._due, every=self.every)
                found, notes = [*found, *said.attempts], [*notes, *said.notes]
            elif downloads.packed(path):
                notes.append(
                    f"{path}: this is the download of a class; unpack it into a folder, and name that"
                )
            else:
                inside = folders.find([path], list(self.listed))
                named, strangers = self._named(inside)
                found, notes = [*found, *named], [*notes, *strangers]
                notes += [
                    f"{name}: {downloads.NO_SUBMISSION}" for name in folders.others(path, inside)
                ]
        notes += [f"{one.files[0][1]}: {why}" for one in found if (why := self._misnamed(one.name))]
        found = [one for one in found if not self._misnamed(one.name)]
        return _apart(found, notes)

    def _misnamed(self, name: str) -> str:
        """Say why there cannot be a folder of this name among the results."""
        taken = self.out is not None and is_file(self.out / name)
        if taken or name.lower().endswith(OURS):
            return f"results cannot be called '{name}', as tables and pages are; rename it"
        return ""

    def _named(self, paths: Sequence[Path]) -> tuple[list[Attempt], list[str]]:
        """Name single submissions; whom the roster does not know is nobody's."""
        if self.roster is None:
            return [_plain(path) for path in paths], []
        known = [(path, self.roster.by("student", name_of(path))) for path in paths]
        strangers = [
            f"{path.name}: nobody in the roster has student {name_of(path)!r}"
            for path, who in known
            if not who
        ]
        return [
            Attempt(who.student, Handed(), ((path.name, path),)) for path, who in known if who
        ], strangers

    def _is_class(self, path: Path) -> bool:
        """Whether what is inside has owners: a download, or with a roster any folder that is no submission itself."""
        if not path.is_dir() or any(is_file(path / name) for name in self.listed):
            return False
        return self.roster is not None or downloads.recognised(path, self.lab.name)

    def _due(self, student: Student) -> datetime | None:
        if self.lab.due is None:
            return None
        return deadline(
            self.lab.late, datetime.fromisoformat(self.lab.due), student.extension_hours
        )


def _plain(path: Path) -> Attempt:
    return Attempt(name_of(path), Handed(), ((path.name, path),))


def _apart(found: Sequence[Attempt], notes: Sequence[str]) -> tuple[list[Attempt], list[str]]:
    """Leave out all that have one name: nobody knows whose the result would be."""
    named: dict[str, list[Attempt]] = defaultdict(list)
    for one in found:
        named[one.name].append(one)
    twins = [
        f"{' and '.join(str(one.files[0][1]) for one in group)}: results of all would be called '{name}'; rename them"
        for name, group in named.items()
        if len(group) > 1
    ]
    return [group[0] for group in named.values() if len(group) == 1], [*notes, *twins]


@contextmanager
def together(
    found: Sequence[Attempt], out: Path
) -> Iterator[tuple[Mapping[str, Path], Sequence[str]]]:
    """Name one path for each attempt, and say what cannot be read; keep beside the results when each came."""
    home = out / TOGETHER
    shutil.rmtree(home, ignore_errors=True)  # of a grader that was killed
    named: dict[str, Path] = {}
    notes: list[str] = []
    try:
        for one in found:
            try:
                named[one.name] = downloads.collect(one, home)
            except OSError as error:
                if error.errno in NOWHERE_TO_WRITE:
                    raise
                notes.append(f"{one.files[0][1]}: it cannot be copied: {error.strerror or error}")
        note([one for one in found if one.name in named], out)
        yield named, notes
    finally:
        shutil.rmtree(home, ignore_errors=True)


def note(found: Sequence[Attempt], out: Path) -> None:
    """Write down when each came; a line that somebody mended stays, until the system it came from says a time."""
    before = times.read(out)
    known = {one.name: one.handed for one in found if one.handed.source}
    kept = {
        name
        for name, one in known.items()
        if one.at is None and _source(before.get(name)) == one.source
    }
    if said := {name: one for name, one in known.items() if name not in kept}:
        times.write(out, {**before, **said})


def _source(handed: Handed | None) -> str:
    return handed.source if handed else ""
