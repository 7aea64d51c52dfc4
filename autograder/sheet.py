"""CSV as people edit it: written so that no spreadsheet runs a cell, read strictly, with the line of every mistake."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from autograder.errors import UserError, nearest

FORMULA = ("=", "+", "-", "@", "\t", "\n", "\r")  # how a cell begins that a spreadsheet would run
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
    """Write a file by a temporary name: whoever is killed, or finds the disk full, leaves the one that was there.

    The name is hidden: no submission has a hidden one, so none is in its way.
    """
    half = path.with_name(f".{path.name}.part")
    half.write_bytes(data)
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
    """Read a number, with a decimal comma too; three digits behind that could be thousands, and are a ValueError.

    >>> number("1,5")
    1.5
    """
    return float(re.sub(r"^(\d+),(\d\d?)$", r"\1.\2", cell.strip()))


def _runs(cell: str) -> bool:
    return cell.startswith(FORMULA) and cell != "-"  # which is how Moodle writes nothing


def read(path: Path, required: Collection[str], known: Collection[str]) -> list[tuple[int, Row]]:
    """Read a table, rows counted as in spreadsheets; missing, unknown, doubled columns, too long rows are refused."""
    try:
        whole = path.read_bytes().decode("utf-8-sig")
        lines = csv.reader(io.StringIO(whole, newline=""), delimiter=_delimiter(whole), strict=True)
        header = [name.strip() for name in next(lines, [])]
        _columns(path, header, required, known)
        found = [
            (row, cells)
            for row, cells in enumerate(lines, 2)
            if any(cell.strip() for cell in cells)
        ]
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise UserError(
            f"{path}: this is no CSV in UTF-8: {error}; save it as 'CSV UTF-8'"
        ) from None
    for row, cells in found:
        if len(cells) > len(header):
            raise UserError(
                f"{path}: row {row}: {len(cells)} cells under {len(header)} columns; quote what has a comma"
            )
    return [
        (row, dict.fromkeys(header, "") | dict(zip(header, _cells(cells), strict=False)))
        for row, cells in found
    ]


def _delimiter(whole: str) -> str:
    """Say what is between the columns: where numbers have a decimal comma, spreadsheets write semicolons."""
    header = whole.partition("\n")[0]
    return next((mark for mark in ",;\t" if mark in header), ",")


def _columns(
    path: Path, header: Sequence[str], required: Collection[str], known: Collection[str]
) -> None:
    for name in header:
        if name not in known:
            raise UserError(
                f"{path}: unknown column '{name}'{nearest(name, known)}; columns: {', '.join(known)}"
            )
        if header.count(name) > 1:
            raise UserError(f"{path}: column '{name}' stands twice; keep one")
    for name in required:
        if name not in header:
            raise UserError(f"{path}: column '{name}' is missing; columns: {', '.join(known)}")


def _cells(cells: Sequence[str]) -> list[str]:
    return [plain(cell.strip()) for cell in cells]


def _cell(value: object) -> str:
    if isinstance(value, int | float):
        return f"{value:.10g}"
    return safe("\n".join(str(value).splitlines()))  # a lone carriage return would end the row
