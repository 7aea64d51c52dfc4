"""Who of a class was graded twice, and what came out differently: graded_twice.csv beside the results.

The first grade stands: a difference says how far a grade can be trusted, and that a person should look.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from autograder import sheet

FILE = "graded_twice.csv"
COLUMNS = ("submission", "check", "first", "second")


@dataclass(frozen=True)
class Drift:
    """One submission graded twice, on other inputs; with a check, one of its differences."""

    submission: str
    check: str = ""
    first: str = ""
    second: str = ""

    def __str__(self) -> str:
        """Say it in one line."""
        what = f"{self.check}: {self.first} -> {self.second}" if self.first else "the same"
        return f"{self.submission}: {what}"


def write(out: Path, drifts: Sequence[Drift]) -> None:
    """Keep it for the pages; the journal has it too."""
    rows = [(drift.submission, drift.check, drift.first, drift.second) for drift in drifts]
    sheet.write(out / FILE, COLUMNS, rows)


def read(out: Path) -> list[Drift]:
    """Read it back; nothing where nobody was graded twice."""
    path = out / FILE
    rows = sheet.read(path, COLUMNS[:1], COLUMNS) if path.is_file() else []
    return [Drift(*(row.get(column, "") for column in COLUMNS)) for _, row in rows]
