"""A result as it counts for a student: with what a person set by hand, and beside the score what lateness takes.

Whoever shows or hands on results reads them here; `result.json` itself is what the grader found, and stays.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from autograder.config import LabConfig
from autograder.errors import ReadError, UserError
from autograder.handed_in import roster as rosters
from autograder.handed_in import times
from autograder.handed_in.late import Late, late
from autograder.handed_in.roster import Roster, Student
from autograder.handed_in.submission import RECORD
from autograder.handed_in.times import Handed
from autograder.model import Result
from autograder.result_file import load_result
from autograder.results import overrides

RESULT = "result.json"
HANDED_IN = "handed_in.zip"
NAMED = ".roster"
"""In a folder of results: where the roster is that its pages were written with."""
NO_TIME = "marked as late, and when it was handed in is not known"


@dataclass(frozen=True)
class Standing:
    """One result, whose it is, and what is taken from it."""

    result: Result
    home: Path
    """The folder of the result."""
    student: Student
    listed: bool = True
    """Whether the roster has the student; without a roster everybody is."""
    handed: Handed = field(default_factory=Handed)
    late: Late | None = None
    unclear: str = ""
    """Why nobody can say yet what lateness takes."""
    members: tuple[Student, ...] = ()
    """All of the group that handed it in."""

    @property
    def persons(self) -> str:
        """Whose it is, as the roster names them; nothing where it only says what results are called."""
        if not self.members:
            return self.student.name
        return ", ".join(member.name or member.student for member in self.members)

    @property
    def leaderboard(self) -> str:
        """How it may stand there: not where one of a group does not want to, by name where all do."""
        wishes = {member.leaderboard for member in self.members or (self.student,)}
        return "no" if "no" in wishes else "name" if wishes == {"name"} else ""

    @property
    def final(self) -> float:
        """The score after lateness."""
        return round(self.result.score - (self.late.points if self.late else 0), 2)


@dataclass(frozen=True)
class Rules:
    """What a class is held to beside the checks; without any, a score is what it is."""

    labs: Mapping[str, LabConfig] = field(default_factory=dict)
    roster: Roster | None = None
    roster_at: Path | None = None


@dataclass(frozen=True)
class Class:
    """Every result below a folder, in the order of their names, and what could not be read."""

    standings: tuple[Standing, ...]
    broken: tuple[str, ...]
    absent: tuple[Student, ...] = ()
    """Who is in the roster and has no result."""

    @property
    def by_student(self) -> tuple[Standing, ...]:
        """One for each student: a group's is each member's own."""
        return tuple(own for standing in self.whole for own in _shared(standing))

    @property
    def whole(self) -> tuple[Standing, ...]:
        """The results, if all of them could be read."""
        if self.broken:
            raise ReadError(
                f"{len(self.broken)} results could not be read: {'; '.join(self.broken)}"
            )
        return self.standings


def rules(labs: Mapping[str, LabConfig], folder: Path, roster: Path | None = None) -> Rules:
    """Hold a folder of results to the policies of labs, and to a roster.

    To this one, else the one that lies there, else the one that its pages were written with.
    """
    path = roster or _known(folder)
    return Rules(labs, rosters.read(path) if path else None, path)


def _known(folder: Path) -> Path | None:
    beside, named = folder / "roster.csv", folder / NAMED
    if beside.is_file() or not named.is_file():
        return beside if beside.is_file() else None
    path = Path(named.read_text(encoding="utf-8"))
    if not path.is_file():
        raise UserError(f"{path}, the roster of {folder}, is gone: name it with --roster")
    return path


def remember(folder: Path, rules: Rules | None) -> None:
    """Keep where the roster of a folder of results is, for commands that do not name it."""
    if rules and rules.roster_at:
        (folder / NAMED).write_text(str(rules.roster_at.resolve()), encoding="utf-8")


def load(file: Path) -> Result:
    """Read one result with what was set by hand."""
    return overrides.applied(load_result(file), overrides.read(file.parent))


def read(folder: Path, rules: Rules | None = None) -> Class:
    """Read every `<folder>/*/result.json`, or the one result that *folder* is."""
    files = [folder / RESULT] if (folder / RESULT).is_file() else sorted(folder.glob(f"*/{RESULT}"))
    if not files:
        raise UserError(
            f"{folder}: no */{RESULT} here; give the folder that `perflab grade --out` wrote"
        )
    handed = times.read(files[0].parent.parent)
    standings: list[Standing] = []
    broken: list[str] = []
    for file in files:
        try:
            result = load(file)
        except ReadError as error:
            broken.append(str(error))
            continue
        received = handed.get(result.submission, Handed())
        standings.append(stand(result, file.parent, received, rules or Rules()))
    absent = _absent(standings, rules.roster if rules else None)
    return Class(tuple(standings), tuple(broken), absent)


def _absent(standings: Sequence[Standing], roster: Roster | None) -> tuple[Student, ...]:
    if roster is None:
        return ()
    present = {own.student.student for standing in standings for own in _shared(standing)}
    names = sorted(name for name in roster.students if name not in present)
    return tuple(roster.students[name] for name in names)


def kept(home: Path, ending: str = "") -> dict[str, bytes]:
    """Read the files that were kept beside a result; none where there are none, or they cannot be read."""
    try:
        with ZipFile(home / HANDED_IN) as archive:
            names = [
                name for name in archive.namelist() if name.endswith(ending) and name != RECORD
            ]
            return {name: archive.read(name) for name in names}
    except (OSError, BadZipFile, zlib.error):
        return {}


def stand(result: Result, home: Path, handed: Handed, rules: Rules) -> Standing:
    """Return how a result stands under the rules."""
    name = handed.student or result.submission
    listed = rules.roster.members(name) if rules.roster is not None else (Student(name),)
    student = next(
        (it for it in listed if it.student == name), listed[0] if listed else Student(name)
    )
    hours = max((it.extension_hours for it in listed), default=0.0)
    late, unclear = _late(result, handed, hours, rules.labs.get(result.lab))
    members = listed if student.group else ()
    return Standing(result, home, student, bool(listed), handed, late, unclear, members)


def _shared(standing: Standing) -> Iterator[Standing]:
    """Return it for each member: what a system calls the upload is only the number of who made it."""
    for member in standing.members or (standing.student,):
        own = member.student == standing.handed.student or not standing.members
        handed = standing.handed if own else replace(standing.handed, source="")
        yield replace(standing, student=member, handed=handed)


def _late(
    result: Result, handed: Handed, extension_hours: float, lab: LabConfig | None
) -> tuple[Late | None, str]:
    if lab is None or lab.late is None or lab.due is None:
        return None, ""
    if handed.at is None:
        return None, NO_TIME if handed.marked_late else ""
    due = datetime.fromisoformat(lab.due)
    return late(lab.late, due, handed.at, result.score, extension_hours), ""
