"""What of the student's cells goes into the part file, and what is left out and named."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import groupby
from textwrap import dedent

from autograder.handed_in.percent_cells import CODE, STUB, Cell
from autograder.handed_in.statements import Statement, plain, split

TAKEN = ("import", "definition", "assignment", "constant")
NAMED = 12
"""Statements and cells that one note names."""


class StudentCells:
    """The student's cells: what of them is taken, and what is left out."""

    def __init__(self, template: str, given: Collection[str]) -> None:
        self._template = template
        self._given = given
        self._cells: list[tuple[Cell, list[Statement]]] = []
        self._broken: list[str] = []

    def take(self, cell: Cell) -> None:
        """Add a cell of the student's."""
        source = cell.source
        if source[:1] in (" ", "\t"):  # Jupyter runs that too
            source = dedent(source)
        cell = replace(cell, source=plain(source))
        try:
            statements = split(cell.source)
        except SyntaxError as error:
            self._broken.append(f"cell {cell.number} ({error.msg[:60]})")
            return
        own = [statement for statement in statements if statement.text not in self._given]
        self._cells.append((cell, own))

    def futures(self) -> list[str]:
        """Return the imports that must stand first in a file."""
        return [statement.text for statement in self._statements if statement.kind == "future"]

    def sources(self) -> Iterator[str]:
        """Yield each cell's own lines, under a line that says where they come from."""
        needed = self._needed()
        for cell, statements in self._cells:
            taken = [item for item in statements if self._is_taken(item, needed)]
            if any(statement.kind != "constant" for statement in taken):
                yield f"{CODE} cell {cell.number}\n" + _lines(cell.source, taken)

    def notes(self) -> Iterator[str]:
        """Yield notes on what was left out, and on what stands twice."""
        if self._broken:
            broken = _listed(self._broken)
            yield f"left out, because it cannot be read as Python of this part: {broken}"
        left_out = list(self._left_out())
        if left_out:
            yield (
                "left out, because it runs something when the file is read; "
                f"that is fine where you tried things out: {_listed(left_out)}"
            )
        for name, numbers in self._definitions().items():
            if len(numbers) > 1:
                cells = f"cells {', '.join(map(str, numbers))}"
                yield f"{name} is defined in {cells}; the last one counts that is written"

    def _left_out(self) -> Iterator[str]:
        needed = self._needed()
        for cell, statements in self._cells:
            for statement in statements:
                runs = statement.kind in ("other", "computed")
                if runs and not self._is_taken(statement, needed):
                    first_line = statement.text.strip().splitlines()[0]
                    yield f"cell {cell.number}, line {statement.first}: {first_line[:60]}"

    @property
    def _statements(self) -> list[Statement]:
        return [statement for _, statements in self._cells for statement in statements]

    def _is_taken(self, statement: Statement, needed: Collection[str]) -> bool:
        if statement.kind == "computed":
            return not statement.sets.isdisjoint(needed)
        if statement.kind in ("import", "assignment") and statement.sets:
            # As little as can be of what was tried out.
            return any(self._mentions[name] > 1 for name in statement.sets)
        replaced = _is_stub(statement) and statement.name in self._written
        return statement.kind in TAKEN and not replaced

    def _needed(self) -> set[str]:
        """Return the names that what is taken rests on.

        A computed value may rest on another.
        """
        needed = set(re.findall(r"^(?:async )?(?:def|class) (\w+)", self._template, re.MULTILINE))
        setters: dict[str, list[Statement]] = {}
        for statement in self._statements:
            if statement.kind in TAKEN:
                needed |= statement.uses
            if statement.kind == "computed":
                for name in statement.sets:
                    setters.setdefault(name, []).append(statement)
        waiting = list(needed)
        while waiting:
            for setter in setters.pop(waiting.pop(), ()):
                waiting += setter.uses - needed
                needed |= setter.uses
        return needed

    def _definitions(self) -> dict[str, list[int]]:
        numbers: dict[str, list[int]] = {}
        for cell, statements in self._cells:
            definitions = {item.name for item in statements if item.kind == "definition"}
            for name in definitions - {"_"}:
                numbers.setdefault(name, []).append(cell.number)
        return numbers

    @cached_property
    def _mentions(self) -> Counter[str]:
        """Count for each word the statements that have it and may be taken.

        The template counts as one.
        """
        kinds = (*TAKEN, "computed")
        texts = [statement.text for statement in self._statements if statement.kind in kinds]
        texts.append(self._template)
        return Counter(word for text in texts for word in set(re.findall(r"\w+", text)))

    @cached_property
    def _written(self) -> set[str]:
        return {
            statement.name
            for statement in self._statements
            if statement.kind == "definition" and not _is_stub(statement)
        }


def _is_stub(statement: Statement) -> bool:
    return statement.kind == "definition" and STUB[1] in statement.text


def library(source: str) -> str:
    """Cut a given cell down to what a file defines: no future imports, no experiments."""
    return _lines(source, [statement for statement in split(source) if statement.kind in TAKEN])


def _lines(source: str, taken: Sequence[Statement]) -> str:
    """Keep the lines of these statements, and comments.

    The others stay, empty, so that line numbers do not move.
    """
    lines = source.split("\n")
    kept = {number for item in taken for number in range(item.first, item.last + 1)}
    short = [statement for statement in taken if statement.first == statement.last]
    for number, of_one_line in groupby(short, lambda statement: statement.first):
        whole = "; ".join(statement.text for statement in of_one_line)
        if not re.fullmatch(re.escape(whole) + r"\s*(#.*)?", lines[number - 1]):
            # Its other statements are not taken.
            lines[number - 1] = whole
    for index, line in enumerate(lines):
        if index + 1 not in kept and not line.startswith("#"):
            lines[index] = ""
    return "\n".join(lines).rstrip()


def assembled(given: Sequence[str], cells: StudentCells) -> str:
    futures = dict.fromkeys(["from __future__ import annotations", *cells.futures()])
    pieces = ["\n".join(futures), *filter(None, given), *cells.sources()]
    return "\n\n".join(pieces) + "\n"


def _listed(items: Sequence[str]) -> str:
    more = len(items) - NAMED
    return "; ".join(items[:NAMED]) + (f"; and {more} more" if more > 0 else "")
