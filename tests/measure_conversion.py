"""Compares the verdicts of the corpus before and after a change of the judging code.

python -m tests.measure_conversion record FILE              grades each entry, untimed, and notes each check's outcome
python -m tests.measure_conversion compare BEFORE AFTER     writes docs/measurements/conversion.md

`record` runs in the checkout of either side. Both sides have one seed.
"""

from __future__ import annotations

import json
import platform
import sys
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import torch

from autograder.course import Course, find_root, proof
from autograder.model import PartResult
from autograder.practice import open_session

PAGE = Path("docs/measurements/conversion.md")
SEED = 20261124
CODE = ("labs", "checks", "worker", "claims")

Outcomes = dict[str, str]
"""Check -> its outcome in one entry."""
Record = dict[str, dict[str, Outcomes]]
"""Lab -> entry -> outcomes."""


def record(file: Path) -> None:
    """Grade the whole corpus of this checkout, and note what each check said."""
    course = Course(find_root(Path.cwd()))
    entries: Record = {lab: outcomes(course, lab) for lab in course.labs}
    file.write_text(json.dumps({"entries": entries, "characters": characters()}, indent=0))


def outcomes(course: Course, lab: str) -> dict[str, Outcomes]:
    """Grade each entry of a lab, without a clock."""
    proof.differences = as_json  # type: ignore[assignment]
    kit = course.kit(lab)
    begin = partial(open_session, course, "cpu", "best", rehearsal=False)
    cases = proof.load_cases(course, kit.lab)
    tasks = [partial(proof.prove_case, case=case, kit=kit, seed=SEED) for case in cases]
    findings = proof._in_lanes(tasks, begin, kit.lab, 0)
    pairs = zip(cases, findings, strict=True)
    return {case.id: json.loads(finding.problems[0]) for case, finding in pairs}


def as_json(_: proof.Case, part: PartResult) -> list[str]:
    """Stand in for the comparison with what an entry states: say what there is."""
    return [json.dumps({check.id: check.outcome for check in part.checks})]


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
    machine = f"{platform.machine()}, Python {platform.python_version()}, torch {torch.__version__}"
    lines = [
        "# Verdicts before and after the conversion to claims",
        "",
        f"Measured on {datetime.now(UTC):%Y-%m-%d}: {machine}, without a GPU, seed {SEED}.",
        "`python -m tests.measure_conversion` graded each entry of the corpus on both sides.",
        "The clock did not run, so timed checks are not compared.",
        "",
        "| lab | entries before | after | in both | verdicts of checks | the same | different |",
        "|---|---|---|---|---|---|---|",
    ]
    differing: list[str] = []
    for lab, entries in before.items():
        both = [entry for entry in entries if entry in after.get(lab, {})]
        changed = [
            f"| {lab} | {entry} | {check} | {outcome} | {after[lab][entry].get(check, 'no such check')} |"
            for entry in both
            for check, outcome in entries[entry].items()
            if after[lab][entry].get(check) != outcome
        ]
        count = sum(len(entries[entry]) for entry in both)
        lines.append(
            f"| {lab} | {len(entries)} | {len(after.get(lab, {}))} | {len(both)} | {count} "
            f"| {count - len(changed)} | {len(changed)} |"
        )
        differing += changed
    lines += ["", "## Verdicts that differ", ""]
    heads = ["| lab | entry | check | before | after |", "|---|---|---|---|---|"]
    lines += [*heads, *differing] if differing else ["None."]
    lines += ["", "## Entries of one side only", ""]
    lines += [*only(before, after, "before"), *only(after, before, "after")] or ["None."]
    lines += ["", "## Characters of the judging code that are not blank", ""]
    lines += ["| folder | before | after |", "|---|---|---|"]
    old, new = size["before"], size["after"]
    lines += [f"| {folder} | {old[folder]:,} | {new[folder]:,} |" for folder in CODE]
    lines.append(f"| all | {sum(old.values()):,} | {sum(new.values()):,} |")
    return "\n".join([*lines, ""])


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
