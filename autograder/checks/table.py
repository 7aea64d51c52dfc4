"""Reads a CSV that a student handed in, and judges rows: those of a file, and those that a function returned.

A row is a mapping; a CSV's are text until `as_numbers`. A problem is one sentence, or nothing.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from typing import Any

from autograder.checks.numerics import shown
from autograder.errors import SubmissionError
from autograder.model import Failed, Passed, Table, Verdict

BYTES = 1024 * 1024
ROWS = 10_000
COLUMNS = 64
SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}
SHOWN = 6  # names of rows in a message
INDEXED = re.compile(r"column 1 has no name|column 'Unnamed: 0'")
INDEX = "pandas wrote the numbers of the rows as a column: index=False is missing"
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)


def read(data: bytes, file: str) -> Table:
    """Read a header and rows; empty lines are passed over."""
    lines = list(_lines(data, file))
    if not lines:
        raise SubmissionError(f"{file}: is empty; its first line names the columns")
    header = [name.strip() for name in lines[0][1]]
    mark = next(
        (mark for mark in SEPARATORS if len(header) == 1 and mark in header[0]),
        "",
    )
    if mark:
        raise SubmissionError(
            f"{file}: its columns are separated by {SEPARATORS[mark]}; write commas"
        )
    if len(header) > COLUMNS or len(lines) > ROWS:
        many = f"more than {ROWS}" if len(lines) > ROWS else f"{len(lines)}"
        raise SubmissionError(
            f"{file}: {many} lines of {len(header)} columns; at most {ROWS} of {COLUMNS}"
        )
    twice = next((name for name in header if header.count(name) > 1), None)
    if twice is not None:
        raise SubmissionError(f"{file}: column '{twice[:60]}' appears twice")
    rows = []
    for line, cells in lines[1:]:
        if len(cells) != len(header):
            raise SubmissionError(
                f"{file}, line {line}: {len(cells)} cells, but the first "
                f"line names {len(header)} columns"
            )
        rows.append(dict(zip(header, (cell.strip() for cell in cells), strict=True)))
        if list(rows[-1].values()) == header:
            raise SubmissionError(f"{file}, line {line}: names the columns again")
    return Table(file, tuple(header), tuple(rows))


def number(text: str) -> float | None:
    """Return a finite number as a program writes it, or None: '2.1' is one, '2.10x' and 'nan' are none."""
    value = float(text) if NUMBER.fullmatch(text) else math.inf
    return value if math.isfinite(value) else None


def as_numbers(rows: Sequence[Mapping[str, str]], names: Collection[str]) -> list[dict[str, Any]]:
    """Turn the named cells into numbers where they are some; the others stay text, to be complained about."""

    def cell(name: str, text: str) -> Any:
        value = number(text) if name in names else None
        return text if value is None else value

    return [{name: cell(name, text) for name, text in row.items()} for row in rows]


def form_problem(
    rows: Sequence[Mapping[str, Any]],
    columns: Sequence[str],
    numbers: Collection[str],
    expected: Collection[Any] | None = None,
    keys: int = 1,
) -> str:
    """Say where rows are not the *expected* ones, have other columns, or text for numbers.

    A row is named by its first column, or by a tuple of its first columns where there are several *keys*.
    """
    missing = [key for key in columns[:keys] if any(key not in row for row in rows)]
    if missing:
        return f"column '{missing[0]}' is missing"
    names = [tuple(_cell(row[key], key in numbers) for key in columns[:keys]) for row in rows]
    wanted = [it if isinstance(it, tuple) else (it,) for it in expected or []]
    if expected is not None and names != wanted:
        return _order_problem(columns[:keys], names, wanted)
    for at, row in enumerate(rows, 1):
        odd = [name for name in columns if name not in row] or [
            name for name in row if name not in columns
        ]
        if odd:
            is_there = "missing" if odd[0] in columns else "not expected"
            return f"{_column(odd[0], row)} is {is_there} in row {at}"
        text = [name for name in numbers if not isinstance(row[name], float | int)]
        if text:
            name = _key([row[key] for key in columns[:keys]])
            return f"{text[0]} of {name} is {row[text[0]]!r}, and it must be a number"
    return ""


def _order_problem(
    keys: Sequence[str], names: Sequence[Sequence[Any]], wanted: Sequence[Sequence[Any]]
) -> str:
    """Name the first row that differs, and what is expected from there on."""
    if not names:
        return (
            f"there are no rows; expected is a row for each {' and '.join(keys)}: {_some(wanted)}"
        )
    same = [name == other for name, other in zip(names, wanted, strict=False)]
    alike = [*same, False].index(False)
    if alike == len(wanted):
        return f"row {alike + 1} is one row too many: {_some(names[alike:])}"
    if alike == len(names):
        return f"the table ends after row {alike}; missing: {_some(wanted[alike:])}"
    came = f"{', '.join(keys)} of row {alike + 1} is {_key(names[alike]) or repr('')}"
    return f"{came}; expected from row {alike + 1} on, in that order: {_some(wanted[alike:])}"


def _some(names: Sequence[Sequence[Any]]) -> str:
    """Join the first names of rows."""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(map(_key, names[:SHOWN])) + more


def device_problem(rows: Sequence[Mapping[str, Any]]) -> str:
    """Say that a row does not name its device, or that rows of one run name several."""
    names = list(
        dict.fromkeys(
            row["device"].strip() if isinstance(row["device"], str) else "" for row in rows
        )
    )
    if "" in names:
        return "the device is not named"
    if len(names) > 1:
        both = f"{names[0][:60]!r} and {names[1][:60]!r}"
        return f"the rows are from two machines, {both}; one machine has to measure all rows"
    return ""


def other_device(rows: Sequence[Mapping[str, Any]], name: str) -> str:
    """Say that a row names another device than the one that measured it."""
    reported = {str(row["device"]).strip() for row in rows} - {name.strip()}
    return (
        f"the device is given as {min(reported)[:60]!r} in the column device; expected {name!r}"
        if reported
        else ""
    )


def differ(
    written: Sequence[Mapping[str, str]],
    returned: Sequence[Mapping[str, Any]],
) -> str:
    """Say where a file's rows are not those that were returned; two decimals are enough."""
    if len(written) != len(returned) or not returned:
        return f"{_rows(written)} in the file, {len(returned)} returned"
    for at, (row, other) in enumerate(zip(written, returned, strict=True), 1):
        for name in {**other, **row}:
            cell, value = row.get(name, ""), other.get(name)
            if _is(cell, value):
                continue
            if (
                isinstance(value, float | int)
                and number(cell) is None
                and any(map(str.isdigit, cell))
            ):
                return f"{name} is {cell[:60]!r} in the file, and it must be a number"
            if name not in other or name not in row:
                where = "file" if name in row else "rows returned"
                return f"{_column(name, row if name in row else other)} is only in the {where}, in row {at}"
            if value is None:
                return f"{name} is {cell[:60]!r} in the file, and it must be an empty cell"
            problems = (
                "empty" if not cell else cell[:60] if number(cell) is None else shown(number(cell))
            )
            return f"{name} is {problems} in the file and {shown(value)} in the rows returned"
    return ""


def _column(name: str, row: Mapping[str, Any]) -> str:
    """Name a column, or say which one of a row has no name."""
    return f"column '{name[:60]}'" if name else f"column {[*row].index(name) + 1} has no name, and"


def indexed(problem: str) -> tuple[str, str] | None:
    """Say why, and what to try, where a problem is the column that pandas adds to a file."""
    again = "write with to_csv(..., index=False), run your file again, and submit the new table"
    return (INDEX, again) if INDEXED.search(problem) else None


def _rows(rows: Sequence[Any]) -> str:
    return f"{len(rows)} {'row' if len(rows) == 1 else 'rows'}"


def _is(cell: str, value: Any) -> bool:
    """Whether a cell of a file holds a value; nothing is an empty cell."""
    read = number(cell)
    if read is not None and isinstance(value, float | int):
        return alike(read, value)
    return cell == ("" if value is None else str(value).strip())


def holds_the_rows(text: str, file: str, returned: Sequence[Mapping[str, Any]]) -> Verdict:
    """Pass the text of a file that holds the rows that were returned with it, be they right or wrong."""
    try_ = f"pd.DataFrame(rows).to_csv(Path(folder) / '{file}', index=False)"
    if not text:
        return Failed(
            f"no {file} in folder",
            "your code leaves no file of this name in the argument folder",
            try_,
        )
    try:
        written = read(text.encode(), file)
    except SubmissionError as error:
        return Failed(f"{file} cannot be read", str(error), try_)
    different = differ(written.rows, returned)
    if not different:
        return Passed("as many rows and columns as were returned")
    if indexed(different):
        return Failed(different, INDEX, try_)
    if different.endswith("must be a number"):
        try_ = "write the number alone, without a unit"
    elif len(written.rows) > len(returned):
        try_ = "return all rows as well: the list that you write to the file"
    else:
        try_ = f"return the rows that you write, and write them once, as they are: {try_}"
    return Failed(different, "the file must hold the rows that the function returns", try_)


def alike(value: float, other: Any) -> bool:
    """Whether a number equals another to 1 %, or to two decimals."""
    return (
        isinstance(other, float | int)
        and math.isfinite(other)
        and abs(value - other) <= max(abs(other) / 100, 0.0051)
    )


def _cell(value: Any, is_number: bool) -> Any:
    """Return the value of a key; a text where a number belongs is seen to be one."""
    return repr(value) if is_number and isinstance(value, str) else value


def _key(key: Sequence[Any]) -> str:
    """Name a row by what its first columns hold."""
    return " ".join(f"{it:g}" if isinstance(it, float) else str(it)[:40] for it in key)


def _lines(data: bytes, file: str) -> list[tuple[int, list[str]]]:
    if len(data) > BYTES:
        raise SubmissionError(f"{file}: {len(data)} bytes; at most {BYTES} are read")
    if b"\0" in data:
        raise SubmissionError(f"{file}: holds a NUL byte, so it is no CSV")
    try:
        reader = csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""), strict=True)
        lines = ((reader.line_num, cells) for cells in reader if any(map(str.strip, cells)))
        return list(islice(lines, ROWS + 1))
    except UnicodeDecodeError as error:
        raise SubmissionError(
            f"{file}: byte {error.start} is not UTF-8; save it as UTF-8"
        ) from None
    except csv.Error as error:
        raise SubmissionError(f"{file}, line {reader.line_num}: {error}") from None
