"""Tables that tools print.

Lines, columns under dashes, numbers with whichever separators the locale has.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Literal

from autograder.errors import SubmissionError
from autograder.traces.source import Source

TEXT_CAP = 64 * 1024 * 1024  # characters
LINE_CAP = 20_000
Point = Literal[".", ","]
DASHES = re.compile(r"\s*-{3,}(?:\s+-{2,})*\s*")
NS = {
    f"{small}{name}": 1000**i
    for i, small in enumerate(("n", "u", "m", ""))
    for name in ("s", "sec", "second")
}
BYTES = {
    "": 1,
    "B": 1,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
}
# A group of three may be thousands or decimals; anything else tells which.
ENGLISH = re.compile(
    r"-?\d{1,3}(?:,\d{3}){2,}|-?\d[\d,]*\.(?:\d{1,2}|\d{4,})|-?\d{1,3}(?:,\d{3})+\.\d+|-?0\.\d+"
)
EUROPEAN = re.compile(
    r"-?\d{1,3}(?:\.\d{3}){2,}|-?\d[\d.]*,(?:\d{1,2}|\d{4,})|-?\d{1,3}(?:\.\d{3})+,\d+|-?0,\d+"
)
BETWEEN = re.compile(r"(?<=\d)[\s'](?=\d{3})")  # thousands of other countries
GROUPED = re.compile(r"-?\d{1,3}[.,]\d{3}")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d{1,3})?", re.ASCII)


def lines(source: Source) -> list[str]:
    """Read a text file of ordinary size."""
    total = 0
    pieces = []
    for piece in source.text():
        total += len(piece)
        if total > TEXT_CAP:
            raise SubmissionError(
                f"{source.name}: more than {TEXT_CAP >> 20} MB of text; "
                "export only what was asked for"
            )
        pieces.append(piece)
    return [line[:LINE_CAP] for line in "".join(pieces).splitlines()]


def columns(dashes: str, line: str) -> list[str]:
    """Cut a line under a row of dashes; the last column goes on to the end."""
    places = [match.span() for match in re.finditer(r"-+", dashes)]
    ends = [*(start for start, _ in places[1:]), len(line)]
    starts = [0, *ends[:-1]]
    return [line[start:end].strip() for start, end in zip(starts, ends, strict=True)]


def point(cells: Iterable[str], name: str) -> Point:
    """Return the decimal sign of a file, from the cells that leave no doubt."""
    signs = set[Point]()
    doubtful = ""
    for cell in (BETWEEN.sub("", text) for text in cells):
        if ENGLISH.fullmatch(cell):
            signs.add(".")
        elif EUROPEAN.fullmatch(cell):
            signs.add(",")
        elif GROUPED.fullmatch(cell):
            doubtful = cell
    if len(signs) == 2 or (doubtful and not signs):
        raise SubmissionError(
            f"{name}: {f'{doubtful!r} may be' if doubtful else 'some numbers are'} thousands or decimals; "
            "write it again with LC_ALL=C before the command"
        )
    return signs.pop() if signs else "."


def number(cell: str, decimal: Point) -> float | None:
    """Read a number, or nothing."""
    plain = BETWEEN.sub("", cell).replace("," if decimal == "." else ".", "").replace(decimal, ".")
    value = float(plain) if NUMBER.fullmatch(plain) else math.inf
    return value if abs(value) < 2**61 else None
