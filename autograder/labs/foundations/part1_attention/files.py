"""What is claimed of the files that are handed in."""

from __future__ import annotations

from collections.abc import Sequence

from autograder.checks.table_form import Row
from autograder.labs.foundations.part1_attention import judges
from autograder.labs.foundations.part1_attention.growth import study
from autograder.labs.foundations.part1_attention.part import CURVES


def _file_problem(rows: Sequence[Row]) -> str:
    versions = {row["version"] for row in rows}
    alone = f"it has {versions.pop()} alone, and no version to compare it with"
    return judges.exponents_problem(rows) or ("" if versions else alone)


study.is_consistent(
    _file_problem,
    says="The submitted attention_growth.csv has both versions at several lengths, and exponents that fit them.",
)
study.is_pictured(CURVES)
