"""Entries that are made of an exercise's reference and its slow version.

The claim that owns an entry has to fail it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import sha256

from autograder.claims import mutants
from autograder.claims.mutants import Entry
from autograder.grading.grade import grade
from autograder.grading.kit import Kit, Session
from autograder.lab import Lab
from autograder.model import Result, Submission


@dataclass(frozen=True)
class AutomaticEntry:
    """One entry, as it is handed in."""

    part: str
    entry: Entry
    submission: Submission

    @property
    def name(self) -> str:
        """Name it after what it is made of, what it does, and who owns it."""
        return f"automatic: {self.part}, {self.entry.name} -> {self.entry.owner}"


def entries_of(kit: Kit, reference: Submission) -> Iterator[AutomaticEntry]:
    """Make the entries of every exercise of a lab; parts without exercises have none."""
    for part in kit.lab.parts:
        right = reference.files.get(part.file, b"").decode()
        slow = kit.baseline.get(part.file, b"").decode()
        for exercise in part.exercises:
            for entry in mutants.made(exercise, right, slow):
                if entry.owner in part.checks:
                    handed_in = _with_file(reference, entry, part.file)
                    yield AutomaticEntry(part.id, entry, handed_in)


def _with_file(reference: Submission, entry: Entry, file: str) -> Submission:
    data = entry.text.encode()
    return replace(
        reference,
        name=entry.name,
        sha256=sha256(data).hexdigest(),
        files={**reference.files, file: data},
    )


def owners(lab: Lab) -> set[tuple[str, str]]:
    """Return the part and the check of every claim that such an entry has to fail."""
    return {
        (part.id, entry.owner)
        for part in lab.parts
        for exercise in part.exercises
        for entry in mutants.made(exercise, "", "")
    }


def run(session: Session, kit: Kit, automatic: AutomaticEntry, seed: int) -> Result:
    """Grade the check that owns an entry, and those it needs."""
    return grade(
        automatic.submission,
        kit,
        session,
        seed=seed,
        parts=[automatic.part],
        only=automatic.entry.owner,
    )


def holes(automatic: AutomaticEntry, result: Result) -> list[str]:
    """Return that an entry got through; what is owed on this machine is settled elsewhere."""
    checks = result.parts[0].checks
    owner = next(check for check in checks if check.id == automatic.entry.owner)
    failed = [check for check in checks if check.outcome == "failed"]
    judged = any(check.cause not in ("raised", "unwritten") for check in failed)
    if owner.outcome == "unavailable" or judged:
        return []
    message = f"{owner.measured} {owner.why} {owner.reason}".strip()
    if owner.outcome == "error":
        return [f"{owner.id} gave no verdict: {message}; correct the claim or the slow version"]
    hole = f"a hole: {owner.id}: {owner.outcome}: {message}"
    return [f"{hole}; say in holes={{...}} why, if that is right"]
