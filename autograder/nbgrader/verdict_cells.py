"""Verdicts as the outputs of a notebook's cells: there nbgrader's feedback shows them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from autograder.model import CheckResult, PartResult
from autograder.report.html import checks_table
from autograder.report.terminal import four_parts

PRACTICE = "practice"
Bundle = dict[str, str]


def show(cells: Iterable[Any], part: PartResult, notes: Sequence[str]) -> None:
    """Put each check's verdict into its cell, and all of them where students run the checks.

    All other output is cleared.
    """
    checks = {check.id: check for check in part.checks}
    for cell in cells:
        if cell["cell_type"] != "code":
            continue
        name = cell["metadata"].get("nbgrader", {}).get("grade_id")
        cell["outputs"] = []
        cell["execution_count"] = None
        if name in checks:
            cell["outputs"] = [_output(bundle(part.id, [checks[name]]))]
        elif name == PRACTICE:
            cell["outputs"] = [_output(bundle(part.id, part.checks, notes))]


def bundle(
    part_id: str,
    checks: Sequence[CheckResult],
    notes: Sequence[str] = (),
) -> Bundle:
    """Return a table, and the same as text for where no table can be shown."""
    lines = [four_parts(part_id, check) for check in checks]
    lines += [f"note  {note}" for note in notes]
    return {
        "text/html": checks_table(checks, notes),
        "text/plain": "\n".join(lines),
    }


def _output(data: Mapping[str, str]) -> dict[str, Any]:
    return {"output_type": "display_data", "metadata": {}, "data": dict(data)}
