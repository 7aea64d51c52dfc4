"""Compares the verdicts that the corpus states before and after a change of the judging code.

python -m tests.measure_conversion record FILE              notes what each entry of this checkout states
python -m tests.measure_conversion compare BEFORE AFTER     writes docs/measurements/conversion.md

What is stated is what is so: `perflab course check LAB` proves it, on either side.
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path

from autograder.course import Course, find_root
from autograder.course.cases import load_cases

PAGE = Path("docs/measurements/conversion.md")
CODE = ("labs", "checks", "worker", "claims")

Stated = dict[str, list[str]]
"""Entry -> the checks that it fails; all others pass, are skipped because of those, or are owed."""
Record = dict[str, Stated]
"""Lab -> what its entries state."""


def record(file: Path) -> None:
    """Note what the corpus of this checkout states, and how large the judging code is."""
    course = Course(find_root(Path.cwd()))
    entries = {lab: stated(course, lab) for lab in course.labs}
    file.write_text(json.dumps({"entries": entries, "characters": characters()}, indent=0))


def stated(course: Course, lab: str) -> Stated:
    """Return the failing checks of each entry."""
    cases = load_cases(course, course.kit(lab).lab)
    return {case.id: sorted(case.fails) for case in cases}


def characters() -> dict[str, int]:
    """Count the characters of the judging code that are not blank."""
    return {
        folder: sum(
            len("".join(file.read_text().split()))
            for file in Path("autograder", folder).rglob("*.py")
        )
        for folder in CODE
    }


def page(before: Record, after: Record, size: dict[str, dict[str, int]]) -> str:
    """Write both sides as tables, and each verdict that differs."""
    lines = [
        "# Verdicts before and after the conversion to claims",
        "",
        f"Written by `python -m tests.measure_conversion` on {datetime.now(UTC):%Y-%m-%d}.",
        "An entry states the checks that it fails. `perflab course check` proved it on both sides.",
        "",
        "| lab | entries before | entries after | in both | same verdict | different verdict |",
        "|---|---|---|---|---|---|",
    ]
    differing: list[str] = []
    for lab, entries in before.items():
        now = after.get(lab, {})
        both = [entry for entry in entries if entry in now]
        changed = [entry for entry in both if entries[entry] != now[entry]]
        counts = (len(entries), len(now), len(both), len(both) - len(changed), len(changed))
        lines.append(f"| {lab} | {' | '.join(map(str, counts))} |")
        differing += [
            f"| {lab} | {entry} | {words(entries[entry])} | {words(now[entry])} |"
            for entry in changed
        ]
    lines += ["", "## Entries with a different verdict", ""]
    heads = ["| lab | entry | fails before | fails after |", "|---|---|---|---|"]
    lines += [*heads, *differing] if differing else ["None."]
    lines += ["", "## Entries of one side only", ""]
    lines += [*only(before, after, "before"), *only(after, before, "after")] or ["None."]
    lines += ["", "## Characters of the judging code that are not blank", ""]
    lines += ["| folder | before | after |", "|---|---|---|"]
    old, new = size["before"], size["after"]
    lines += [f"| {folder} | {old[folder]:,} | {new[folder]:,} |" for folder in CODE]
    lines.append(f"| all | {sum(old.values()):,} | {sum(new.values()):,} |")
    return "\n".join([*lines, ""])


def words(checks: list[str]) -> str:
    """List checks for a cell of a table."""
    return ", ".join(checks) or "nothing"


def only(some: Record, others: Record, side: str) -> list[str]:
    """Name the entries that only one side has."""
    return [
        f"- {lab}: {entry} (only {side})"
        for lab, entries in some.items()
        for entry in entries
        if entry not in others.get(lab, {})
    ]


def compare(before: Path, after: Path) -> None:
    """Write the page."""
    old, new = (json.loads(file.read_text()) for file in (before, after))
    size = {"before": old["characters"], "after": new["characters"]}
    PAGE.write_text(page(old["entries"], new["entries"], size))


if __name__ == "__main__":
    command, *files = sys.argv[1:]
    {"record": record, "compare": compare}[command](*map(Path, files))
