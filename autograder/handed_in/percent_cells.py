"""Part files in percent format: cells below markers, as editors and Jupytext read them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from autograder.errors import CourseError

STUB = ("# YOUR CODE HERE", "raise NotImplementedError()")
"""nbgrader's, so that both tools cut alike."""
CODE = "# %%"
TEXT = "# %% [markdown]"


@dataclass(frozen=True)
class Cell:
    """A cell of a percent file or of a notebook."""

    number: int
    """Counted from 1, text cells included, as the reader of a notebook counts."""
    code: bool
    source: str
    file: str = ""
    """The report that a text cell is part of."""


def cells_of(text: str, where: str) -> list[Cell]:
    """Split a percent file at its markers.

    A marker with anything else on its line is refused, not guessed.
    """
    cells: list[Cell] = []
    lines: list[str] = []
    code = True
    for number, line in enumerate([*text.split("\n"), CODE], 1):
        if line in (CODE, TEXT):
            source = "\n".join(lines).strip("\n")
            if source:
                source = source if code else _uncommented(source, where)
                cells.append(Cell(len(cells) + 1, code, source))
            lines = []
            code = line == CODE
        elif re.match(r"#\s*%%", line):
            raise CourseError(
                f"{where}, line {number}: {line!r} is almost a marker; "
                f"write exactly {CODE} or {TEXT}"
            )
        else:
            lines.append(line)
    return cells


def _uncommented(source: str, where: str) -> str:
    lines = source.split("\n")
    bare = [line for line in lines if line and not line.startswith("#")]
    if bare:
        raise CourseError(
            f"{where}: {bare[0]!r} stands in a text cell without '# ' before it; "
            f"put {CODE} above code"
        )
    return "\n".join(re.sub("^# ?", "", line) for line in lines)


def cells_in(code: bytes) -> list[tuple[int, str]]:
    """Return the line of a part file below which each cell stands.

    None if it was no notebook.
    """
    lines = enumerate(code.decode(errors="replace").split("\n"), 1)
    return [
        (number, line.removeprefix(f"{CODE} "))
        for number, line in lines
        if re.fullmatch(rf"{CODE} cell \d+", line)
    ]


def in_cells(text: str, file: str, cells: Sequence[tuple[int, str]]) -> str:
    """Name cells where *text* names lines of the part file that was made of them.

    A notebook's author can find a cell, and not those lines.
    """

    def placed(match: re.Match[str]) -> str:
        number = int(match["line"])
        above = [(first, cell) for first, cell in cells if first < number]
        if not above:
            return match[0]
        first, cell = above[-1]
        return f"{cell}, line {number - first}"

    here = re.escape(file)
    named = rf"(?:{here}, |(?<=\()|(?<= on )(?=line \d+ \({here},))line (?P<line>\d+)"
    return re.sub(named, placed, text)
