"""A course with one part, and a mutant of its corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from autograder.course import Course

PART = "part1_toy"
REFERENCE = "def work():\n    return 1\n"


def toy_course(root: Path) -> Course:
    (root / "grading_config.yaml").write_text("")
    home = root / "reference" / "toy"
    home.mkdir(parents=True)
    (home / "part1_toy.py").write_text(REFERENCE)
    (root / "tests" / "submissions" / "toy").mkdir(parents=True)
    return Course(root)


def mutant(**changes: Any) -> dict[str, Any]:
    return {
        "id": "two",
        "about": "returns two",
        "part": PART,
        "replace": [{"old": "return 1", "new": "return 2"}],
        "fails": {"positive": ""},
        **changes,
    }
