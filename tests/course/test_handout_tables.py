"""The table of a handout is what judges: titles, points, bases, bars, needs, and what a person looks for."""

from __future__ import annotations

import pytest

from autograder.checks.table_form import Form, count
from autograder.config import CheckConfig, PartConfig
from autograder.course.handout_tables import BEGIN, END, table, with_table
from autograder.errors import CourseError
from autograder.lab import Bar, Part, Passed, Verdict
from autograder.model import Limits


def a_part():
    part = Part("part1_toy", writes=["double"])

    @part.check(basis="outputs")
    def right() -> Verdict:
        """It is right | always."""
        return Passed("")

    @part.check(basis="outputs", needs=[right])
    def faster(bar: Bar) -> Verdict:
        """It is at least {bar} as fast."""
        return Passed(f"{bar}")

    @part.check(basis="report", needs=[right])
    def leaner(bar: Bar) -> Verdict:
        """It needs less memory."""
        return Passed(f"{bar}")

    return part


CONFIG = PartConfig(
    6.5,
    Limits(),
    {
        "right": CheckConfig(2.0),
        "faster": CheckConfig(2.5, {"t4": 1.5, "hopper": 1.3, "ampere": 1.3}, "seed"),
        "leaner": CheckConfig(1.0, {"t4": 2.0}, "seed", gpus=2),
    },
    {"explains": 1.0},
    {"explains": "notes.md says why"},
)
ROWS = """`pytest -k part1` runs these checks. *outputs* compares your results with right ones on fresh inputs, or measures time and memory from outside. *report* observes how your code works.

| check | points | rests on | what must hold |
|---|---|---|---|
| `right` | 2 | outputs | It is right &#124; always. |
| `faster` | 2.5 | outputs | It is at least 1.30x (ampere, hopper) or 1.50x (t4) as fast. On other devices these points are owed. |
| `leaner` | 1 | report | It needs less memory. The bar: 2.00x (t4). Needs 2 GPUs. |
| `explains` | 1 | a person | notes.md says why. |

Some checks are judged only after another check has passed, and earn nothing until then: `faster` and `leaner` after `right`.
"""


def test_each_check_has_a_row():
    assert ROWS == table(a_part(), CONFIG)


def test_the_table_is_written_between_its_marks():
    """Whatever stood there, and as often as one likes; all around it stays."""
    handout = f"# Part 1\n\n{BEGIN}\nold\n{END}\n\n## Last\n"

    told = with_table(handout, a_part(), CONFIG)

    assert f"# Part 1\n\n{BEGIN}\n{ROWS}{END}\n\n## Last\n" == told
    assert told == with_table(told, a_part(), CONFIG)


def test_what_the_course_does_without_has_no_row():
    told = table(a_part().without({"faster"}), CONFIG)

    assert "faster" not in told
    assert "`leaner` after `right`" in told


WRONG_COLUMNS = {
    "another name": (
        "<!-- BEGIN COLUMNS result.csv -->\n<!-- END COLUMNS result.csv -->\n",
        r"result.csv: the part has no such table \(did you mean 'results.csv'\?\)",
    ),
    "no end": (
        "<!-- BEGIN COLUMNS results.csv -->\n<!-- END COLUMNS result.csv -->\n",
        "is never closed; add <!-- END COLUMNS results.csv --> below it",
    ),
}


@pytest.mark.parametrize(("columns", "said"), WRONG_COLUMNS.values(), ids=WRONG_COLUMNS)
def test_a_place_for_columns_that_none_would_fill_is_named(columns, said):
    """Students would read the columns of an earlier form, or none."""
    part = a_part()
    part.tables = (Form("results.csv", (count("rows", "rows of the batch"),)),)

    with pytest.raises(CourseError, match=said):
        with_table(f"{BEGIN}\n{END}\n{columns}", part, CONFIG)


def test_a_handout_without_a_place_is_told_what_to_add():
    with pytest.raises(CourseError, match="has no place"):
        with_table("# Part 1\n", a_part(), CONFIG)
