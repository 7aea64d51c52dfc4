"""The form of a table, declared once: what a row has, in which unit, and what a number may be.

AMP = Form("amp_results.csv", (words("precision", "..."), ratio("speedup", "rate", "first rate"), DEVICE))

From it follow the judge of rows, the JSON Schema that students read, and the list of columns in the handout; and how a
figure is told that is not what was measured.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any

from autograder.checks import table
from autograder.checks.numerics import close, explained, shown
from autograder.model import Table

DRAFT = "https://json-schema.org/draft/2020-12/schema"
FIRST = "first "
"""Before a column in a ratio: that of the first row."""
ROUNDED = 0.0051  # half of the last of two decimals: an epoch on a GPU may take 0.02 s
MISMATCH = re.compile(
    r"(?P<figure>.+? is [^:]+?)(?:: (?P<cause>.+) \((?P<right>[^()]+ is right)\)"
    r"| where (?P<alone>.+ is right))"
)
"""What `told_wrong` says."""
UNUSUAL = "no usual mistake gives this number"

Row = Mapping[str, Any]
Slip = tuple[float, str]
"""The number that a usual mistake gives, and what the mistake is."""


@dataclass(frozen=True)
class Column:
    """One column: its name, what it says in words, what a value may be, and its unit."""

    name: str
    about: str
    schema: Mapping[str, Any]
    unit: str = ""
    ratio: tuple[str, str] = ("", "")
    """The columns that it is the ratio of."""

    @property
    def is_number(self) -> bool:
        """Whether its cells are read as numbers."""
        return self.schema.get("type") in ("number", "integer")


def positive(name: str, about: str, unit: str = "") -> Column:
    """Declare a number above 0."""
    return Column(name, about, {"type": "number", "exclusiveMinimum": 0}, unit)


def not_negative(name: str, about: str, unit: str = "") -> Column:
    """Declare a number from 0 up."""
    return Column(name, about, {"type": "number", "minimum": 0}, unit)


def any_number(name: str, about: str, unit: str = "") -> Column:
    """Declare a number."""
    return Column(name, about, {"type": "number"}, unit)


def percent(name: str, about: str) -> Column:
    """Declare a share in percent."""
    return Column(name, about, {"type": "number", "minimum": 0, "maximum": 100}, "%")


def count(name: str, about: str, least: int = 1) -> Column:
    """Declare a whole number."""
    return Column(name, about, {"type": "integer", "minimum": least})


def chosen(name: str, about: str, *values: str) -> Column:
    """Declare one of some words."""
    return Column(name, about, {"enum": list(values)})


def ratio(name: str, above: str, below: str, unit: str = "x", about: str = "") -> Column:
    """Declare a ratio of two columns, of the same row or, with `first ` before them, of the first one."""
    quotient = f"`{_spelt(above)} / {_spelt(below)}`{about}"
    return replace(positive(name, quotient, unit), ratio=(above, below))


def _spelt(column: str) -> str:
    return f"{column.removeprefix(FIRST)} of the first row" if FIRST in column else column


def words(name: str, about: str) -> Column:
    """Declare a text that is not empty."""
    return Column(name, about, {"type": "string", "minLength": 1})


def or_nothing(column: Column) -> Column:
    """Allow an empty cell, or None, for what a machine cannot show."""
    return replace(
        column,
        schema={"anyOf": [column.schema, {"type": "null"}, {"const": ""}]},
    )


DEVICE = words(
    "device",
    "name of the GPU or CPU, from `given.device_name`; the same in all rows",
)


@dataclass(frozen=True)
class Form:
    """What a results table has to look like."""

    file: str
    columns: tuple[Column, ...]
    rows: tuple[Any, ...] | None = None
    """What names them, in their order: a tuple where several columns do; None where it is the student's choice."""
    keys: int = 1
    """So many columns name a row."""
    each: str = ""
    """A column: its first row is the first of those with the same value there."""
    waits_in: str = ""
    """A column: the seconds that data_wait is a part of."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    @property
    def numbers(self) -> tuple[str, ...]:
        """The names of the columns that hold numbers."""
        return tuple(column.name for column in self.columns if column.is_number)

    @property
    def units(self) -> dict[str, str]:
        """The units of the columns that have one."""
        return {column.name: column.unit for column in self.columns if column.unit}

    def read(self, handed_in: Table) -> list[dict[str, Any]]:
        """Return the rows of a file, their numbers as numbers."""
        optional = [column.name for column in self.columns if "anyOf" in column.schema]
        return table.as_numbers(handed_in.rows, [*self.numbers, *optional])

    def name(self, row: Row) -> str:
        """Return what a row is of, by its keys."""
        return ", ".join(
            f"{column.name} {shown_name(row[column.name])}"
            if column.is_number or "enum" in column.schema
            else shown_name(row[column.name])
            for column in self.columns[: self.keys]
        )

    def shape_problem(self, rows: Sequence[Row], expected: Collection[Any] | None = None) -> str:
        """Say that there are other rows or columns, or texts where numbers belong; figures may be whatever they are."""
        asked = self.rows if expected is None else expected
        return table.form_problem(rows, self.names, self.numbers, asked, self.keys)

    def problem(self, rows: Sequence[Row], expected: Collection[Any] | None = None) -> str:
        """Say what is wrong with rows of a file, or with those that a function returned; or nothing.

        *expected* are their keys, in order: tuples where a row has several.
        """
        wrong = self.shape_problem(rows, expected)
        if wrong or not rows:
            return wrong or "there are no rows"
        problems = chain(map(self._odd, rows), map(self._odd_wait, rows))
        odd = next(filter(None, problems), "") or self.ratio_problem(rows)
        return odd or (table.device_problem(rows) if DEVICE in self.columns else "")

    def _odd(self, row: Row) -> str:
        for column in self.columns:
            error = next(
                self._validators[column.name].iter_errors(row[column.name]),
                None,
            )
            if error is not None and column is not DEVICE:
                cell = shown_cell(row[column.name])
                return f"{column.name} of {self.name(row)} is {cell}, and {_needed(error)}"
        return ""

    def _odd_wait(self, row: Row) -> str:
        """Two figures of two decimals may be off by one, where one is taken from the other."""
        whole = row[self.waits_in] if self.waits_in else 0.0
        if not self.waits_in or -2 * ROUNDED <= row["data_wait"] <= whole + 2 * ROUNDED:
            return ""
        seconds = f"{row['data_wait']:.4g} s, and {self.waits_in} {whole:.4g} s"
        return f"data_wait of {self.name(row)} is {seconds}"

    def ratio_problem(self, rows: Sequence[Row]) -> str:
        """Say which ratio does not follow from the columns that it is of."""
        return next(filter(None, (self._odd_ratio(row, rows) for row in rows)), "")

    def _odd_ratio(self, row: Row, rows: Sequence[Row]) -> str:
        first = next(it for it in rows if not self.each or it[self.each] == row[self.each])
        figures = {
            **{FIRST + name: value for name, value in first.items()},
            **row,
        }
        for column in self.columns:
            above, below = column.ratio
            if not above:
                continue
            quotient = figures[above] / figures[below] if figures[below] else math.inf
            if not table.alike(row[column.name], quotient):
                reported = f"{column.name} of {self.name(row)} is {shown(row[column.name])}"
                slips = [(100 * quotient, ": it is in percent, and it must be a share")]
                if quotient and not close(quotient, 1.0, 0.05):  # near 1 both are alike
                    slips.append((1 / quotient, ": it is upside down"))
                why = explained(row[column.name], slips, 0.005)
                spelt = f"{_spelt(above)} / {_spelt(below)}"
                return f"{reported}, but {spelt} is {quotient:.4g}{why}"
        return ""

    def mismatch(
        self,
        row: Row,
        column: str,
        expected: float,
        within: float,
        slips: Sequence[Slip] = (),
        otherwise: str = "",
    ) -> str:
        """Say that a figure is not the *expected* one, and which usual slip gives it, or *otherwise*; or nothing."""
        if close(row[column], expected, within):
            return ""
        key = self.columns[0]
        before = "in the row of" if key.is_number else "of"  # "ms of bytes 1200" reads as 1200 ms
        of = f" {before} {self.name(row)}" if key.name in row else ""
        unit = f" {self.units[column]}" if column in self.units else ""
        why = explained(row[column], slips, within) or otherwise
        digits = ".4g" if within > 1e-3 else ".6g"
        reported = "None" if row[column] is None else f"{row[column]:{digits}}"
        measured = f"{column}{of} is {reported}{unit}"
        right = f"{expected:{digits}} is right"
        return told_wrong(measured, why, right)

    def machine_problem(self, rows: Sequence[Row], device: str, *, on_gpu: bool) -> str:
        """Say which row names another device than the one it ran on, or gives a CPU a GPU's memory."""
        for row in rows:
            peak = row.get("peak_memory_mb")
            if peak not in (None, "") and not on_gpu:
                measured = f"peak_memory_mb of {self.name(row)} is {peak:.4g}"
                why = "no GPU was there to ask, so the cell must stay empty"
                return told_wrong(measured, why, "None is right")
        return table.other_device(rows, device)

    @cached_property
    def _validators(self) -> dict[str, Any]:
        from autograder.json_schema import Draft202012Validator

        return {column.name: Draft202012Validator(column.schema) for column in self.columns}

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of a row."""
        return {
            "$schema": DRAFT,
            "title": f"One row of {self.file}, its numbers read as numbers",
            "type": "object",
            "additionalProperties": False,
            "required": list(self.names),
            "properties": {
                it.name: {
                    **self._values(it),
                    "description": _described(it),
                }
                for it in self.columns
            },
        }

    def _values(self, column: Column) -> Mapping[str, Any]:
        """Return what a value may be: in the first column, the names of the rows."""
        named = self.rows is not None and self.keys == 1 and column is self.columns[0]
        return {"enum": list(self.rows or ())} if named else column.schema

    def listed(self) -> str:
        """Return the columns as a table of a handout."""
        lines = [f"| `{it.name}` | {it.unit or ' '} | {it.about} |" for it in self.columns]
        return "\n".join(["| column | unit | |", "|---|---|---|", *lines, ""])


def told_wrong(figure: str, cause: str, right: str) -> str:
    """Say in one sentence that a figure is wrong; `parted` takes it apart."""
    return f"{figure}: {cause} ({right})" if cause else f"{figure} where {right}"


def parted(problem: str) -> tuple[str, str]:
    """Part what `told_wrong` says into the figure, with the right one, and its cause; other problems have none."""
    told = MISMATCH.fullmatch(problem)
    if told is None:
        return problem, ""
    return f"{told['figure']}, and {told['right'] or told['alone']}", told["cause"] or UNUSUAL


def _described(column: Column) -> str:
    return f"{column.about} ({column.unit})" if column.unit else column.about


def samples_problem(rows: Sequence[Row], within: float, rounded: float = ROUNDED) -> str:
    """Say how the epochs of rows had different numbers of samples, beyond what is lost to two decimals."""
    first = rows[0]["throughput"] * rows[0]["epoch_time"]
    for row in rows:
        samples = row["throughput"] * row["epoch_time"]
        lost = rounded * (row["throughput"] + rows[0]["throughput"])
        if not abs(samples - first) <= within * first + lost:
            return f"throughput x epoch_time is {first:.4g} samples in one row and {samples:.4g} in another"
    return ""


def fraction_problem(rows: Sequence[Row]) -> str:
    """Say which accuracy is a fraction: whoever guesses among 10 classes is right in 10 % of the samples."""
    for row in rows:
        if 0 < row["accuracy"] < 1:
            reported = f"the accuracy of a row is {shown(row['accuracy'])} %"
            return f"{reported}, and a guess among 10 classes reaches 10 %: it is a fraction, not percent"
    return ""


def _needed(error: Any) -> str:
    """Say in words what a value has to be."""
    asked = error.validator_value
    if error.validator == "type":
        return {
            "integer": "has to be a whole number",
            "number": "has to be a number",
        }.get(asked, "has to be a text")
    if error.validator == "anyOf":
        return "has to be a number or None (in a file: an empty cell)"
    if error.validator == "enum":
        return f"has to be one of {', '.join(asked)}"
    return {
        "exclusiveMinimum": f"has to be above {asked}",
        "minimum": f"has to be at least {asked}",
        "maximum": f"has to be at most {asked}",
        "minLength": "must not be empty",
    }[error.validator]


def shown_name(name: Any) -> str:
    """Return a row's name as a CSV has it."""
    return f"{name:g}" if isinstance(name, float) else str(name)


def shown_cell(cell: Any) -> str:
    """Return a cell in short."""
    return shown(cell)[:60]
