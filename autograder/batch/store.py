"""The files of many submissions: where they are found, what is kept of each, where results go; and grading one."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from hashlib import sha256
from pathlib import Path

from autograder import sheet
from autograder.batch.journal_file import FILE as JOURNAL
from autograder.errors import SubmissionError, UserError
from autograder.grading.grade import Kit, Session, grade
from autograder.handed_in import submission
from autograder.handed_in.notebook import NOTHING, Released
from autograder.handed_in.submission import name_of, plain
from autograder.handed_in.unpack import ARCHIVE, CAPS, is_file, passed_over
from autograder.model import Result, Submission, to_json
from autograder.results import overrides, standing
from autograder.results.standing import Standing

RESULT, HANDED_IN = standing.RESULT, standing.HANDED_IN


def find(paths: Sequence[Path], listed: Sequence[str]) -> list[Path]:
    """Name every submission: a path that holds a listed file is one, a folder of folders and archives is many."""
    return [one for path in paths for one in _below(path, listed)]


def _below(path: Path, listed: Sequence[str]) -> Iterator[Path]:
    if not path.exists():
        raise UserError(f"{path}: there is no such file or folder")
    if path.is_file() or any((path / name).is_file() for name in listed):
        yield path
        return
    inside = [one for one in _visible(path) if _is_one(one)]
    if not inside:
        raise UserError(
            f"{path}: holds no submission; expected {listed[0]}, folders, archives or notebooks"
        )
    yield from inside


def others(path: Path, found: Collection[Path]) -> list[str]:
    """Name what lies beside submissions and is none: nobody's work is passed over in silence."""
    return (
        [one.name for one in _visible(path) if one not in found]
        if path.is_dir() and path not in found
        else []
    )


def _visible(path: Path) -> list[Path]:
    return sorted(one for one in path.iterdir() if not passed_over((one.name,)))


def _is_one(path: Path) -> bool:
    """Whether it may be a submission: results, which may stand in the same folder, are none."""
    return not is_file(path / JOURNAL) if path.is_dir() else bool(ARCHIVE.search(path.name))


def grade_one(handed_in: Submission, kit: Kit, session: Session, out: Path, *, seed: int) -> Result:
    """Grade one submission; its files and its result are below *out* then."""
    keep(handed_in, out)
    result = grade(handed_in, kit, session, seed=seed)
    save(result, out)
    return result


def load_or_say(path: Path, listed: Sequence[str], released: Released = NOTHING) -> Submission:
    """Load a submission; one that cannot be read at all still gets a result, and every check of it says why."""
    try:
        return submission.load(path, listed, released=released)
    except SubmissionError as problem:
        why = plain(
            str(problem).replace(str(path), path.name, 1), 1000
        )  # where it lies here is nothing to its author
        return Submission(name_of(path), _beginning(path), {}, dict.fromkeys(listed, why))


def _beginning(path: Path) -> str:
    """Hash as much of a file as would be read; a folder, and what may not be read, is nothing."""
    try:
        with path.open("rb") as file:
            return (
                sha256(file.read(CAPS.archive + 1)).hexdigest()
                if path.is_file()
                else sha256(b"").hexdigest()
            )
    except OSError:
        return sha256(b"").hexdigest()


def keep(handed_in: Submission, out: Path) -> None:
    """Put what was taken of a submission beside its result: `perflab replay` grades it again."""
    target = out / handed_in.name / HANDED_IN
    target.parent.mkdir(parents=True, exist_ok=True)
    sheet.replace(target, submission.packed(handed_in))


def kept(name: str, out: Path, listed: Collection[str]) -> Submission:
    """Read back what `keep` wrote."""
    return submission.unpacked(out / name / HANDED_IN, name, listed)


def save(result: Result, out: Path) -> Path:
    """Write result.json by a temporary name, so that a reader never sees half of one."""
    target = out / result.submission / RESULT
    target.parent.mkdir(parents=True, exist_ok=True)
    sheet.replace(
        target, (json.dumps(to_json(result), indent=1, ensure_ascii=False) + "\n").encode()
    )
    return target


def digest(name: str, out: Path) -> str:
    """Hash the result as it is on disk; nothing where there is none."""
    file = out / name / RESULT
    return sha256(file.read_bytes()).hexdigest() if file.is_file() else ""


def write_grades(standings: Sequence[Standing], out: Path) -> Path:
    """Write grades.csv: one line each, numbers as numbers, with lateness and with what a person set by hand."""
    header = (
        "submission",
        "final",
        "score",
        "late",
        "owed",
        "lost",
        "max_score",
        "attempt",
        "isolation",
        "set_by_hand",
    )
    return sheet.write(out / "grades.csv", header, map(_grade, standings))


def _grade(one: Standing) -> tuple[object, ...]:
    r, late = one.result, one.unclear or one.late or ""
    by_hand = "; ".join(name for name, check in r.checks.items() if overrides.by_hand(check))
    points = (one.final, r.score, late, r.points_owed, r.lost, r.max_score)
    return (r.submission, *points, r.attempt, r.isolation, by_hand)
