"""Points that a person set by hand: kept beside the result that they change, never in it, and never without a reason.

`overrides.jsonl` is append-only: of several for one check the last counts, and the others stay to be read.
"""

from __future__ import annotations

import errno
import fnmatch
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from autograder import sheet
from autograder.errors import ReadError, UserError, nearest
from autograder.grading import scoring
from autograder.model import CheckResult, Outcome, PartResult, Result
from autograder.records import from_json, to_json

FILE = "overrides.jsonl"
BY_HAND = "set_by_hand"
"""In the evidence of a check: the override, and what the grader had found."""


@dataclass(frozen=True)
class Override:
    """One decision of a person about one check of one submission."""

    check: str
    """part3_amp.follows_fp32"""
    points: float | None
    """None: what the grader found counts again."""
    reason: str
    by: str
    at: str
    """ISO 8601, with its offset."""
    submission_sha256: str
    """The files that it was about: it says nothing of others."""
    of: float = 0.0
    """What the check was worth then; 0 where that was not written down."""
    requests: tuple[str, ...] | None = None
    """The requests for a second look that it answers: all that were there. None where that was not written down."""


def wanted(text: str) -> float | None:
    """Read points as a person writes them; 'graded' is None."""
    try:
        return None if text.strip() == "graded" else sheet.number(text)
    except ValueError:
        raise UserError(
            f"{text}: give points as a number, or 'graded' to take back what was set"
        ) from None


def chosen(result: Result, pattern: str) -> list[str]:
    """Name the checks that a pattern like `part3_amp.*` means; without a star it is the name of one."""
    if "*" not in pattern:
        return [pattern]
    matching = fnmatch.filter(result.checks, pattern)
    if not matching:
        raise UserError(
            f"{pattern}: no check of {result.submission} is called so; write it like 'part3_amp.*'"
        )
    return matching


def decide(
    result: Result, name: str, points: float | None, reason: str, *, by: str, at: str
) -> Override:
    """Make the record, or say why it cannot be; the check may be named without its part."""
    checks = result.checks
    named = [check for check in checks if name in (check, check.partition(".")[2])]
    if len(named) != 1:
        several = f"name its part: {' or '.join(named)}"
        raise UserError(
            f"{name}: {several if named else f'{result.submission} has no such check{nearest(name, checks)}'}"
        )
    worth = checks[named[0]].max_points
    if points is not None and not (0 <= points <= worth and points == round(points, 2)):
        raise UserError(
            f"{named[0]}: {points:g} points; give 0 to {worth:g} in hundredths, or 'graded' to take it back"
        )
    if not reason.strip():
        raise UserError(f"{named[0]}: say why with --reason; the student reads it")
    return Override(named[0], points, reason.strip(), by, at, result.submission_sha256, worth, ())


def append(folder: Path, made: Sequence[Override]) -> None:
    """Write decisions behind those that are there, whole lines in one go, and not before they are on disk."""
    lines = "".join(
        json.dumps(to_json(override), ensure_ascii=False) + "\n" for override in made
    ).encode()
    file = os.open(folder / FILE, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        whole = os.fstat(file).st_size
        if os.write(file, lines) < len(lines):
            os.ftruncate(file, whole)
            raise OSError(errno.ENOSPC, "no room for the decision", str(folder / FILE))
        os.fsync(file)
    finally:
        os.close(file)


def read(folder: Path) -> list[Override]:
    """Read every decision about a result, first to last."""
    path = folder / FILE
    if not path.is_file():
        return []
    lines = path.read_text(encoding="utf-8").splitlines()
    return [
        _read(f"{path}: line {number}", line) for number, line in enumerate(lines, start=1) if line
    ]


def applied(result: Result, made: Sequence[Override]) -> Result:
    """Put the decisions that are about these files into a result, each with its reason; sums follow."""
    if not made:
        return result
    ours = {
        override.check: override
        for override in made
        if override.submission_sha256 == result.submission_sha256
    }
    others = for_other_files(result, made)
    parts = tuple(_part(part, ours) for part in result.parts)
    notes = tuple(
        f"{name} was set by hand for other files than these; that does not count here"
        for name in others
    )
    score, max_score, owed = scoring.totals(parts)
    # After its last try a check waits for a person, whatever its outcome says.
    settled_by = {item.check: item.settled_by for item in result.owed}
    owed = tuple(replace(it, settled_by=settled_by.get(it.check, it.settled_by)) for it in owed)
    return replace(
        result,
        parts=parts,
        score=score,
        max_score=max_score,
        owed=owed,
        notes=(*result.notes, *notes),
    )


def for_other_files(result: Result, made: Sequence[Override]) -> list[str]:
    """Name the checks whose points a person set for files of this student that are not these."""
    here = {
        override.check
        for override in made
        if override.submission_sha256 == result.submission_sha256
    }
    return sorted({override.check for override in made} - here)


def by_hand(check: CheckResult) -> str:
    """Say that and why a person set the points; nothing where no person did."""
    noted = check.evidence.get(BY_HAND)
    if not noted or not noted["graded"]:
        return noted["reason"] if noted else ""
    return f"{noted['reason']} (the grader: {noted['graded']})"


def corrected(check: CheckResult) -> bool:
    """Whether a person replaced what the grader found; points that only a person gives replace nothing."""
    return bool(check.evidence.get(BY_HAND, {}).get("graded"))


def set_when_worth(check: CheckResult) -> float:
    """Return what the check was worth when a person set its points, if it is worth something else now."""
    then = float(check.evidence.get(BY_HAND, {}).get("of", 0.0))
    return 0.0 if then == check.max_points else then


def _part(part: PartResult, ours: Mapping[str, Override]) -> PartResult:
    checks = [_check(check, ours.get(f"{part.id}.{check.id}")) for check in part.checks]
    return scoring.part_result(part.id, part.title, checks, bonus=part.bonus)


def _check(check: CheckResult, override: Override | None) -> CheckResult:
    if override is None or override.points is None:
        return check
    points = min(override.points, check.max_points)  # the check may be worth less by now
    outcome: Outcome = "passed" if points == check.max_points else "partial" if points else "failed"
    graded = f"{scoring.OUTCOMES[check.outcome]}, {check.points:g} of {check.max_points:g}"
    waited = check.basis == "person" and check.outcome == "unavailable"
    evidence = {
        **check.evidence,
        BY_HAND: {
            "reason": override.reason,
            "by": override.by,
            "at": override.at,
            "of": override.of,
            "requests": override.requests,
            "graded": "" if waited else graded,
        },
    }
    judged = replace(check, outcome=outcome, points=points, reason="", cause="", evidence=evidence)
    return replace(judged, why="", try_="") if outcome == "passed" else judged


def _read(where: str, line: str) -> Override:
    try:
        return from_json(Override, json.loads(line), where)
    except ValueError as error:
        raise ReadError(f"{where}: {error}") from None
