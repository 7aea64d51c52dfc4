"""Entries that are made of an exercise's reference and its slow version: the claim that owns one has to fail it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import sha256

from autograder.claims import entries
from autograder.claims.entries import Entry
from autograder.grading.grade import grade
from autograder.grading.kit import Kit, Session
from autograder.lab import Lab
from autograder.model import Result, Submission


@dataclass(frozen=True)
class Made:
    """One entry, as it is handed in."""

    part: str
    entry: Entry
    submission: Submission

    @property
    def name(self) -> str:
        """Name it after what it is made of, what it does, and who owns it."""
        return f"automatic: {self.part}, {self.entry.name} -> {self.entry.owner}"


def made(kit: Kit, reference: Submission) -> Iterator[Made]:
    """Make the entries of every exercise of a lab; parts without exercises have none."""
    for part in kit.lab.parts:
        texts = [files.get(part.file, b"").decode() for files in (reference.files, kit.baseline)]
        for exercise in part.exercises:
            for entry in entries.made(exercise, *texts):
                if entry.owner in part.checks:
                    files = {**reference.files, part.file: entry.text.encode()}
                    digest = sha256(entry.text.encode()).hexdigest()
                    handed_in = replace(reference, name=entry.name, sha256=digest, files=files)
                    yield Made(part.id, entry, handed_in)


def owners(lab: Lab) -> set[tuple[str, str]]:
    """Return the part and the check of every claim that such an entry has to fail."""
    exercises = [(part, exercise) for part in lab.parts for exercise in part.exercises]
    return {
        (part.id, entry.owner)
        for part, exercise in exercises
        for entry in entries.made(exercise, "", "")
    }


def run(session: Session, kit: Kit, made: Made, seed: int) -> Result:
    """Grade the check that owns an entry, and those it needs."""
    return grade(made.submission, kit, session, seed=seed, parts=[made.part], only=made.entry.owner)


def holes(made: Made, result: Result) -> list[str]:
    """Say that an entry got through; what is owed on this machine is settled elsewhere."""
    owner = next(check for check in result.parts[0].checks if check.id == made.entry.owner)
    failed = [it for it in result.parts[0].checks if it.outcome == "failed"]
    if owner.outcome == "unavailable" or any(
        it.cause not in ("raised", "unwritten") for it in failed
    ):
        return []
    said = f"{owner.measured} {owner.why} {owner.reason}".strip()
    if owner.outcome == "error":
        return [f"{owner.id} gave no verdict: {said}; correct the claim or the slow version"]
    return [
        f"a hole: {owner.id}: {owner.outcome}: {said}; say in holes={{...}} why, if that is right"
    ]
