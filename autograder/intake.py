"""What is to be graded: submissions by the names that their results get, from plain folders and from downloads."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from autograder import batch, downloads, scoring, times
from autograder.config import LabConfig
from autograder.downloads import Attempt
from autograder.errors import UserError
from autograder.roster import Roster, Student
from autograder.submission import name_of
from autograder.times import Handed

OURS = (".csv", ".html", ".key", ".sqlite")  # files below --out, where each submission has a folder
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

    def find(self, paths: Sequence[Path]) -> tuple[list[Attempt], list[str]]:
        """Name the attempts in folders, archives and downloads, and what belongs to nobody."""
        found: list[Attempt] = []
        notes: list[str] = []
        for path in paths:
            if self._is_class(path):
                said = downloads.find(path, self.lab.name, self.roster, self._due, every=self.every)
                found, notes = [*found, *said.attempts], [*notes, *said.notes]
            elif downloads.packed(path):
                raise UserError(f"{path}: this is the download of a class; unpack it into a folder, and name that")
            else:
                inside = batch.find([path], list(self.listed))
                named, strangers = self._named(inside)
                found, notes = [*found, *named], [*notes, *strangers]
                notes += [f"{name}: {downloads.NO_SUBMISSION}" for name in batch.others(path, inside)]
        _refuse_twins(found)
        return found, notes

    def _named(self, paths: Sequence[Path]) -> tuple[list[Attempt], list[str]]:
        """Name single submissions; whom the roster does not know is nobody's."""
        if self.roster is None:
            return [_plain(path) for path in paths], []
        known = [(path, self.roster.by("student", name_of(path))) for path in paths]
        strangers = [
            f"{path.name}: nobody in the roster has student {name_of(path)!r}" for path, who in known if not who
        ]
        return [Attempt(who.student, Handed(), ((path.name, path),)) for path, who in known if who], strangers

    def _is_class(self, path: Path) -> bool:
        """Whether what is inside has owners: a download, or with a roster any folder that is no submission itself."""
        if not path.is_dir() or any((path / name).is_file() for name in self.listed):
            return False
        return self.roster is not None or downloads.recognised(path, self.lab.name)

    def _due(self, student: Student) -> datetime | None:
        if self.lab.due is None:
            return None
        return scoring.deadline(self.lab.late, datetime.fromisoformat(self.lab.due), student.extension_hours)


def _plain(path: Path) -> Attempt:
    return Attempt(name_of(path), Handed(), ((path.name, path),))


def _refuse_twins(found: Sequence[Attempt]) -> None:
    names = Counter(one.name for one in found)
    for one in found:
        where = one.files[0][1]
        if Path(one.name).suffix in OURS:
            raise UserError(f"{where}: results cannot be called '{one.name}', as tables and pages are; rename it")
        if names[one.name] > 1:
            raise UserError(
                f"{where}: two submissions are called '{one.name}'; rename one, so that no result is overwritten"
            )


@contextmanager
def together(found: Sequence[Attempt], out: Path) -> Iterator[Mapping[str, Path]]:
    """Name one path for each attempt, and keep beside the results when each came."""
    home = out / TOGETHER
    shutil.rmtree(home, ignore_errors=True)  # of a grader that was killed
    note(found, out)
    try:
        yield {one.name: downloads.collect(one, home) for one in found}
    finally:
        shutil.rmtree(home, ignore_errors=True)


def note(found: Sequence[Attempt], out: Path) -> None:
    """Write down when each came; a line that somebody mended stays, until the system it came from says a time."""
    before = times.read(out)
    known = {one.name: one.handed for one in found if one.handed.source}
    kept = {name for name, one in known.items() if one.at is None and _source(before.get(name)) == one.source}
    if said := {name: one for name, one in known.items() if name not in kept}:
        times.write(out, {**before, **said})


def _source(handed: Handed | None) -> str:
    return handed.source if handed else ""
