"""The files of many submissions: where they are found, what is kept of each, where results go; and grading one."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from hashlib import sha256
from pathlib import Path

from autograder import sheet
from autograder.errors import SubmissionError
from autograder.grading.grade import grade
from autograder.grading.kit import Kit, Session
from autograder.handed_in import submission
from autograder.handed_in.notebook import NOTHING, Released
from autograder.handed_in.submission import name_of, plain
from autograder.handed_in.unpack import CAPS
from autograder.model import Result, Submission
from autograder.records import to_json
from autograder.results import overrides, standing
from autograder.results.standing import Standing

RESULT, HANDED_IN = standing.RESULT, standing.HANDED_IN


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


def _grade(standing: Standing) -> tuple[object, ...]:
    r, late = standing.result, standing.unclear or standing.late or ""
    by_hand = "; ".join(name for name, check in r.checks.items() if overrides.corrected(check))
    points = (standing.final, r.score, late, r.points_owed, r.lost, r.max_score)
    return (r.submission, *points, r.attempt, r.isolation, by_hand)
