"""Uploads that the last run graded for nobody, such as two of one student without their times, in a line each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

NOT_GRADED = "not_graded.txt"


def remember(folder: Path, lines: Sequence[str]) -> None:
    """Keep the lines beside the results, for the class page; a run without any takes the earlier ones away."""
    file = folder / NOT_GRADED
    if lines:
        folder.mkdir(parents=True, exist_ok=True)
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    else:
        file.unlink(missing_ok=True)


def read(folder: Path) -> list[str]:
    """Return the lines of the last run."""
    file = folder / NOT_GRADED
    return file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
