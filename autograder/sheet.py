"""CSV as people edit it: no spreadsheet runs a cell, and every mistake is named with its line."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from autograder.errors import UserError, nearest

FORMULA = ("=", "+", "-", "@", "\t", "\n", "\r")
"""How a cell begins that a spreadsheet would run."""
Row = Mapping[str, str]


def text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Write a table; numbers stay numbers, and no text of anybody's is a formula."""
    whole = io.StringIO()
    lines = csv.writer(whole, lineterminator="\n")
    lines.writerow(header)
    lines.writerows([_cell(value) for value in row] for row in rows)
    return whole.getvalue()


def write(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> Path:
    """Write a table; what was there stays if that fails."""
    return replace(path, text(header, rows).encode())


def replace(path: Path, data: bytes) -> Path:
    """Write a file by a temporary name, so that a crash or a full disk leaves the one before.

    The name is hidden: no submission has a hidden one, so none is in its way.
    """
    half = path.with_name(f".{path.name}.part")
    try:
        half.write_bytes(data)
    except OSError as problem:
        problem.filename = problem.filename or str(path)  # a full disk names no file by itself
        raise
    return half.replace(path)


def safe(cell: str) -> str:
    """Take the meaning from a formula; `plain` gives the text back.

    >>> safe("=1+1"), plain("'=1+1"), safe("ada")
    ("'=1+1", '=1+1', 'ada')
    """
    return f"'{cell}" if _runs(cell) else cell


def plain(cell: str) -> str:
    """Undo `safe`."""
    return cell[1:] if cell.startswith("'") and _runs(cell[1:]) else cell


def number(cell: str) -> float:
    """Read a number, with a decimal comma too.

    Three digits behind a comma could be thousands, and are a ValueError.

    >>> number("1,5")
    1.5
    """
    return float(re.sub(r"^(\d+),(\d\d?)$", r"\1.\2", cell.strip()))


def _runs(cell: str) -> bool:
    return cell.startswith(FORMULA) and cell != "-"  # which is how Moodle writes nothing


def read(path: Path, required: Collection[str], allowed: Collection[str]) -> list[tuple[int, Row]]:
    """Read a table, rows counted as in spreadsheets.

    Missing, unknown and doubled columns are refused, and rows that are too long.
    """
    try:
        header, *lines = _lines(path)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise UserError(
            f"{path}: this is no CSV in UTF-8: {error}; save it as 'CSV UTF-8'"
        ) from None
    columns = [name.strip() for name in header]
    _check_columns(path, columns, required, allowed)
    rows = []
    for number, cells in enumerate(lines, 2):
        if any(cell.strip() for cell in cells):
            rows.append((number, _row(f"{path}: row {number}", columns, cells)))
    return rows


def _lines(path: Path) -> list[list[str]]:
    whole = path.read_bytes().decode("utf-8-sig")
    file = io.StringIO(whole, newline="")
    return list(csv.reader(file, delimiter=_delimiter(whole), strict=True)) or [[]]


def _row(where: str, columns: Sequence[str], cells: Sequence[str]) -> Row:
    if len(cells) > len(columns):
        raise UserError(
            f"{where}: {len(cells)} cells under {len(columns)} columns; quote what has a comma"
        )
    values = [plain(cell.strip()) for cell in cells]
    return dict.fromkeys(columns, "") | dict(zip(columns, values, strict=False))


def _delimiter(whole: str) -> str:
    """Return what is between the columns.

    Where numbers have a decimal comma, spreadsheets write semicolons.
    """
    header = whole.partition("\n")[0]
    return next((mark for mark in ",;\t" if mark in header), ",")


def _check_columns(
    path: Path,
    header: Sequence[str],
    required: Collection[str],
    allowed: Collection[str],
) -> None:
    columns = f"columns: {', '.join(allowed)}"
    for name in header:
        if name not in allowed:
            raise UserError(f"{path}: unknown column '{name}'{nearest(name, allowed)}; {columns}")
        if header.count(name) > 1:
            raise UserError(f"{path}: column '{name}' stands twice; keep one")
    for name in required:
        if name not in header:
            raise UserError(f"{path}: column '{name}' is missing; {columns}")


def _cell(value: object) -> str:
    if isinstance(value, int | float):
        return f"{value:.10g}"
    return safe("\n".join(str(value).splitlines()))  # a lone carriage return would end the row
