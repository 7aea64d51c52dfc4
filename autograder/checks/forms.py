"""The form of a table, declared once: what a row has, in which unit, and what a number may be.

AMP = Form("amp_results.csv", (chosen("precision", "...", "FP32", "AMP"), positive("speedup", "...", "x"), DEVICE))

From it follow the judge of rows, the JSON Schema that students read, and the list of columns in the handout.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from autograder.checks import table
from autograder.checks.numerics import shown
from autograder.model import Table

DRAFT = "https://json-schema.org/draft/2020-12/schema"

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Column:
    """One column: its name, what it says in words, what a value may be, and its unit."""

    name: str
    about: str
    schema: Mapping[str, Any]
    unit: str = ""

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


def words(name: str, about: str) -> Column:
    """Declare a text that is not empty."""
    return Column(name, about, {"type": "string", "minLength": 1})


def or_nothing(column: Column) -> Column:
    """Allow an empty cell, or None, for what a machine cannot show."""
    return replace(column, schema={"anyOf": [column.schema, {"type": "null"}, {"const": ""}]})


DEVICE = words("device", "name of the GPU or CPU, from `given.device_name`; one for all rows")


@dataclass(frozen=True)
class Form:
    """What a results table has to look like."""

    file: str
    columns: tuple[Column, ...]
    rows: tuple[str, ...] | None = None
    """The names in the first column, in their order; None where they are the student's choice."""

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

    def problem(self, rows: Sequence[Row], expected: Sequence[str | int] | None = None) -> str:
        """Say what is wrong with rows of a file, or with those that a function returned; or nothing."""
        asked = self.rows if expected is None else expected
        wrong = table.form_problem(rows, self.names, self.numbers, asked) or "there are no rows" * (
            not rows
        )
        cells = ((row, column) for row in rows for column in self.columns if column is not DEVICE)
        wrong = wrong or next(
            (said for row, column in cells if (said := self._odd(row, column))), ""
        )
        return wrong or (table.device_problem(rows) if DEVICE in self.columns else "")

    def _odd(self, row: Row, column: Column) -> str:
        error = next(self._validators[column.name].iter_errors(row[column.name]), None)
        if error is None:
            return ""
        told = (
            f"{column.name} of {shown_name(row[self.names[0]])} is {shown_cell(row[column.name])}"
        )
        return f"{told}, and {_needed(error)}"

    @cached_property
    def _validators(self) -> dict[str, Any]:
        import jsonschema

        return {
            column.name: jsonschema.Draft202012Validator(column.schema) for column in self.columns
        }

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of a row."""
        return {
            "$schema": DRAFT,
            "title": f"One row of {self.file}, its numbers read as numbers",
            "type": "object",
            "additionalProperties": False,
            "required": list(self.names),
            "properties": {
                it.name: {**self._values(it), "description": _described(it)} for it in self.columns
            },
        }

    def _values(self, column: Column) -> Mapping[str, Any]:
        """Return what a value may be: in the first column, the names of the rows."""
        named = self.rows is not None and column is self.columns[0]
        return {"enum": list(self.rows or ())} if named else column.schema

    def listed(self) -> str:
        """Return the columns as a table of a handout."""
        lines = [f"| `{it.name}` | {it.unit or ' '} | {it.about} |" for it in self.columns]
        return "\n".join(["| column | unit | |", "|---|---|---|", *lines, ""])


def _described(column: Column) -> str:
    return f"{column.about} ({column.unit})" if column.unit else column.about


def _needed(error: Any) -> str:
    """Say in words what a value has to be."""
    asked = error.validator_value
    if error.validator == "type":
        return {"integer": "has to be a whole number", "number": "has to be a number"}.get(
            asked, "has to be a text"
        )
    if error.validator == "anyOf":
        return "has to be a number, or nothing where there is none"
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
