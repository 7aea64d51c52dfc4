"""Compares the verdicts that the corpus states before and after a change of the judging code.

python -m tests.measure_conversion record FILE [PROOF ...]  notes what each entry of this checkout states
python -m tests.measure_conversion compare BEFORE AFTER     writes docs/measurements/conversion.md

A PROOF is what `perflab course check LAB --json` printed in this checkout: which entries are judged as they state.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from autograder.course import Course, cases, find_root
from autograder.course.cases import load_cases

PAGE = Path("docs/measurements/conversion.md")
CODE = ("labs", "checks", "worker", "claims")
MOVED = "was a case of a test of its part"
"""Why an entry is there after and not before: commit f912463 made entries of such cases."""

Stated = dict[str, list[str]]
"""Entry -> the checks that it fails; all others pass, are skipped because of those, or are owed."""
Record = dict[str, Stated]
"""Lab -> what its entries state."""


def record(file: Path, *proofs: Path) -> None:
    """Note what the corpus of this checkout states and what was proved of it, and how large the judging code is."""
    course = Course(find_root(Path.cwd()))
    noted = {
        "entries": {lab: stated(course, lab) for lab in course.labs},
        "checks": {lab: checks(course, lab) for lab in course.labs},
        "proved": proved(proofs),
        "characters": characters(),
    }
    file.write_text(json.dumps(noted, indent=0))


def checks(course: Course, lab: str) -> dict[str, str]:
    """Return each check and what it rests on."""
    parts = course.kit(lab).lab.parts
    return {f"{part.id}.{name}": it.basis for part in parts for name, it in part.checks.items()}


def proved(proofs: Sequence[Path]) -> dict[str, dict[str, list[bool]]]:
    """Return the entries that were run, and whether each was judged as it states, run by run."""
    found: dict[str, dict[str, list[bool]]] = {}
    for line in (line for file in proofs for line in file.read_text().splitlines()):
        told = json.loads(line)
        kind, _, entry = told.get("subject", "").partition(": ")
        if kind in cases.KINDS:
            found.setdefault(told["lab"], {}).setdefault(entry, []).append(not told["problems"])
    return found


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


def page(old: dict[str, Any], new: dict[str, Any]) -> str:
    """Write both sides as tables, and each verdict that differs."""
    before, after = old["entries"], new["entries"]
    lines = [
        "# Verdicts before and after the conversion to claims",
        "",
        f"Written by `python -m tests.measure_conversion` on {datetime.now(UTC):%Y-%m-%d}.",
        "An entry states the checks that it fails. `perflab course check LAB` runs it and compares. The table says",
        "how many entries were run on each side for this page, and how many of them were judged as they state in each run.",
        "Timed checks were not run.",
        "",
        "| lab | before | run, as stated | after | run, as stated | both | same statement | another |",
        "|---|---|---|---|---|---|---|---|",
    ]
    differing: list[str] = []
    for lab, entries in before.items():
        now = after.get(lab, {})
        both = [entry for entry in entries if entry in now]
        changed = [entry for entry in both if entries[entry] != now[entry]]
        counts = (
            *(len(entries), ran(old, lab), len(now), ran(new, lab)),
            *(len(both), len(both) - len(changed), len(changed)),
        )
        lines.append(f"| {lab} | {' | '.join(map(str, counts))} |")
        differing += [
            f"| {lab} | {entry} | {words(entries[entry])} | {words(now[entry])} |"
            for entry in changed
        ]
    unlike = [
        f"{lab}.{entry} ({len(runs) - sum(runs)} of {len(runs)} runs)"
        for side in (old, new)
        for lab, own in side["proved"].items()
        for entry, runs in own.items()
        if not all(runs)
    ]
    lines += ["", f"Run, and not judged as stated: {', '.join(unlike) or 'none'}."]
    lines += ["", "## Entries with another statement", ""]
    heads = ["| lab | entry | fails before | fails after |", "|---|---|---|---|"]
    lines += [*heads, *differing] if differing else ["None."]
    lines += ["", "## Entries of one side only", ""]
    lines += [*only(before, after, "before", ""), *only(after, before, "after", MOVED)] or ["None."]
    lines += ["", "## Names of checks", "", *renamed(old["checks"], new["checks"])]
    lines += ["", "## Characters of the judging code that are not blank", ""]
    lines += ["| folder | before | after |", "|---|---|---|"]
    size, now_size = old["characters"], new["characters"]
    lines += [f"| {folder} | {size[folder]:,} | {now_size[folder]:,} |" for folder in CODE]
    lines.append(f"| all | {sum(size.values()):,} | {sum(now_size.values()):,} |")
    return "\n".join([*lines, ""])


def ran(side: dict[str, Any], lab: str) -> str:
    """Say how many entries of a lab were run, and how many of these were judged as they state."""
    judged = side["proved"].get(lab, {})
    return f"{len(judged)}, {sum(map(all, judged.values()))}"


def renamed(before: dict[str, dict[str, str]], after: dict[str, dict[str, str]]) -> list[str]:
    """Name the checks that are there on one side only, or rest on something else."""
    sides = [
        {f"{lab}.{name}": basis for lab, own in side.items() for name, basis in own.items()}
        for side in (before, after)
    ]
    differing = sorted(dict(sides[0].items() ^ sides[1].items()))
    counts = f"{len(sides[0])} checks before, {len(sides[1])} after"
    if not differing:
        return [f"{counts}: all have the name and the basis that they had."]
    old, new = ([side.get(name, "none") for name in differing] for side in sides)
    return [
        f"{counts}.",
        "",
        *("| check | before | after |", "|---|---|---|"),
        *(f"| {' | '.join(row)} |" for row in zip(differing, old, new, strict=True)),
    ]


def words(checks: list[str]) -> str:
    """List checks for a cell of a table."""
    return ", ".join(checks) or "nothing"


def only(some: Record, others: Record, side: str, why: str) -> list[str]:
    """Name the entries that only one side has, and why."""
    return [
        f"- {lab}, only {side} ({why or 'gone'}): {', '.join(entries)}"
        for lab, own in some.items()
        if (entries := [entry for entry in own if entry not in others.get(lab, {})])
    ]


def compare(before: Path, after: Path) -> None:
    """Write the page."""
    PAGE.write_text(page(*(json.loads(file.read_text()) for file in (before, after))))


if __name__ == "__main__":
    command, *files = sys.argv[1:]
    {"record": record, "compare": compare}[command](*map(Path, files))
