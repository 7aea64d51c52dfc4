"""Where a wrong result is wrong, as a picture: the map that a check noted, in cells from right to far off."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

CELL = 6.0  # pixels of a cell, at least
LARGE = 24.0  # and at most
WIDE = 320.0  # pixels that a map may take


@dataclass(frozen=True)
class Map:
    """The error of one result over its last two dimensions."""

    case: str
    levels: tuple[str, ...]
    said: str

    @property
    def columns(self) -> int:
        """How many cells a row has."""
        return len(self.levels[0])

    @property
    def cell(self) -> float:
        """How many pixels a cell is wide."""
        return max(CELL, min(LARGE, WIDE / max(self.columns, len(self.levels))))

    def runs(self) -> Iterator[tuple[int, int, int, str]]:
        """Return neighbours of one level as one piece: row, column, length, level."""
        for row, levels in enumerate(self.levels):
            column = 0
            for level, cells in groupby(levels):
                length = len(list(cells))
                yield row, column, length, level
                column += length


def wrong(evidence: Mapping[str, Any]) -> Map | None:
    """Read the map of a result; nothing where a check noted none."""
    noted = evidence.get("error_map")
    if not noted:
        return None
    return Map(noted["case"], tuple(noted["levels"]), _said(noted))


def _said(noted: Mapping[str, Any]) -> str:
    shape = noted["shape"]
    rows, columns = ([1, 1, *shape])[-2:]
    numbers = f"{noted['wrong']} of {rows * columns} numbers are wrong"
    if len(shape) > 2:
        numbers = (
            f"{noted['wrong']} of {rows * columns} places in the last two dimensions are wrong"
        )
    if noted["wrong"] == rows * columns:
        return numbers + _blocks(noted["levels"], rows, columns)
    places = [_range("columns", noted["columns"], columns)]
    if rows > 1:
        places.insert(0, _range("rows", noted["rows"], rows))
    return f"{numbers}: {', '.join(places)}{_blocks(noted['levels'], rows, columns)}"


def _blocks(levels: Sequence[str], rows: int, columns: int) -> str:
    high, wide = -(-rows // len(levels)), -(-columns // len(levels[0]))
    block = f"; a cell is {high} x {wide} numbers or less, and its worst one counts"
    return block if high > 1 or wide > 1 else ""


def _range(name: str, ends: Sequence[int], size: int) -> str:
    first, last = ends
    if (first, last) == (0, size - 1):
        return f"in all {name} from 0 to {last}" if size > 1 else f"in the only one of the {name}"
    if first == last:
        return f"in {name.removesuffix('s')} {first} of 0 to {size - 1}"
    return f"in {name} {first} to {last} of 0 to {size - 1}"
