"""Fills the figures of a table into a report that names them.

    python -m given.rendered optimization_report.md optimization_results.csv

{AMP.speedup} is the speedup of the row AMP with three digits, {AMP.speedup:.2f} with two decimals; {table:AMP.speedup}
is of table.csv. Names may be divided and subtracted: {1 - AMP.peak_memory_mb / Baseline.peak_memory_mb:.0%}. What
stands in code, in quotation marks or behind > is left as it is.
"""

from __future__ import annotations

import csv
import difflib
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import sub, truediv
from pathlib import Path
from typing import Any

QUOTED = re.compile(
    r"```.*?(?:```|\Z)|<!--.*?(?:-->|\Z)|^[ \t]*>.*?$|`[^`\n]*`|\"[^\"\n]{1,300}\"|“[^”\n]{1,300}”"
    r"|\]\([^)\n]{0,500}\)|https?://\S+",
    re.DOTALL | re.MULTILINE,
)
BRACES = re.compile(r"\{([^{}\n]{0,200}\S\.[A-Za-z_][^{}\n]{0,200})\}")  # {a} of a formula is none
SHAPE = re.compile(r"(?P<figures>.*?)(?::(?P<format>\+?,?(?:\.\d)?[feg%]))?")
NAME = re.compile(r"(?:(?P<table>\w+):)?(?P<row>.+)\.(?P<column>[A-Za-z_]\w*)")
NUMBER = r"(?<![\w.,/])(?P<number>\d{1,12}(?:[.,]\d{1,9}){0,4})"
THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")

Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Named:
    """A figure that a report names."""

    line: int
    at: int
    said: str
    places: frozenset[tuple[str, str]]
    """The rows and columns that it is made of."""
    text: str
    """What stands in its place for a reader."""


def rendered(text: str, tables: Mapping[str, Rows]) -> str:
    """Return a report with its figures filled in; the first of *tables* goes without saying."""
    figures = {name.at: name.text for name in named(text, tables)}
    return BRACES.sub(lambda it: figures.get(it.start(), it[0]), text)


def named(text: str, tables: Mapping[str, Rows]) -> list[Named]:
    """Return every figure that a report names; ValueError with a line for each that no table has."""
    figures, wrong = [], []
    for it in BRACES.finditer(QUOTED.sub(_spaces, text)):
        line = text.count("\n", 0, it.start()) + 1
        try:
            figures.append(Named(line, it.start(), it[0], *_figure(it[1], tables)))
        except ValueError as error:
            wrong.append(f"line {line}: {it[0]}: {error}")
    if wrong:
        raise ValueError("\n".join(wrong))
    return figures


def contradicted(text: str, rows: Rows, units: Mapping[str, str]) -> list[str]:
    """Name each typed number, directly followed by a column's unit, that no row has in a column of that unit."""
    every = "|".join(sorted(map(re.escape, set(units.values())), key=len, reverse=True))
    typed = re.compile(rf"{NUMBER}\s?(?P<unit>{every})(?![\w/])(?! \d)")  # 32 x 32 is a size
    return [
        wrong
        for it in typed.finditer(QUOTED.sub(_spaces, text))
        if (wrong := _unlike(text, it, rows, units))
    ]


def _unlike(text: str, it: re.Match[str], rows: Rows, units: Mapping[str, str]) -> str:
    columns = [name for name, unit in units.items() if unit == it["unit"]]
    digits = it["number"].replace(",", "" if THOUSANDS.fullmatch(it["number"]) else ".")
    typed, half = _number(digits), 0.5 * 10.0 ** -len(digits.partition(".")[2])
    cells = [_number(row.get(column)) for row in rows for column in columns]
    if typed is not None and any(
        cell is not None and abs(cell - typed) <= half * 1.001 for cell in cells
    ):
        return ""
    return (
        f"line {text.count(chr(10), 0, it.start()) + 1}: {it[0]} is no row's {' or '.join(columns)}"
    )


def _figure(said: str, tables: Mapping[str, Rows]) -> tuple[frozenset[tuple[str, str]], str]:
    """Work out what stands in braces: differences of quotients of names, and 1."""
    shape = SHAPE.fullmatch(said.strip())
    assert shape is not None  # any text has this shape
    used = set[tuple[str, str]]()

    def value(name: str) -> Any:
        if name.strip() == "1":
            return 1.0
        place, cell = _cell(name.strip(), tables)
        used.add(place)
        return cell

    terms = (map(value, term.split(" / ")) for term in shape["figures"].split(" - "))
    whole = _joined([_joined(list(term), truediv) for term in terms], sub)
    if not used:
        raise ValueError("names no row and no column: {row.column}")
    return frozenset(used), _written(whole, shape["format"])


def _joined(parts: Sequence[Any], join: Callable[[Any, Any], Any]) -> Any:
    if len(parts) > 1 and not all(isinstance(part, float) for part in parts):
        raise ValueError("one of them is no number")
    try:
        return reduce(join, parts)
    except ZeroDivisionError:
        raise ValueError("divides by 0") from None


def _cell(name: str, tables: Mapping[str, Rows]) -> tuple[tuple[str, str], Any]:
    """Find the cell that a name means, as a number if it is one."""
    parts = NAME.fullmatch(name)
    if parts is None:
        raise ValueError("has no {row.column} in it")
    title = parts["table"] or next(iter(tables))
    rows = _known(title, tables, "table")
    by_name = {_text(next(iter(row.values()), "")): row for row in rows}
    row = _known(parts["row"].strip(), by_name, "row")
    cell = _known(parts["column"], row, "column")
    number = _number(cell)
    return (parts["row"].strip(), parts["column"]), _text(cell) if number is None else number


def _known(name: str, among: Mapping[str, Any], what: str) -> Any:
    if name in among:
        return among[name]
    near = difflib.get_close_matches(name, list(among), 1)
    hint = (
        f"; did you mean '{near[0]}'?"
        if near
        else f"; there are {', '.join(list(among)[:12]) or 'none'}"
    )
    raise ValueError(f"there is no {what} '{name}'{hint}")


def _written(value: Any, format_: str | None) -> str:
    if not isinstance(value, float):
        return str(value)
    return (
        format(value, format_)
        if format_
        else f"{value:.0f}"
        if abs(value) >= 1000
        else f"{value:.3g}"
    )


def _number(cell: Any) -> float | None:
    try:
        return float(cell)
    except (TypeError, ValueError):
        return None


def _text(cell: Any) -> str:
    """Return a row's name as a CSV has it: 2, and not 2.0."""
    return f"{cell:g}" if isinstance(cell, float) else str(cell)


def _spaces(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def _tables(files: Sequence[str]) -> Iterator[tuple[str, Rows]]:
    for file in files:
        with Path(file).open(encoding="utf-8-sig", newline="") as lines:
            yield Path(file).stem, list(csv.DictReader(lines))


if __name__ == "__main__":
    try:
        report = Path(sys.argv[1]).read_text(encoding="utf-8")
        sys.stdout.write(rendered(report, dict(_tables(sys.argv[2:]))))
    except (IndexError, OSError, ValueError) as error:
        sys.exit(f"{error}\nusage: python -m given.rendered REPORT.md TABLE.csv")
