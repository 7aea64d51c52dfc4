"""Cuts solutions out of what is handed out, and names the line where a marker is wrong."""

from __future__ import annotations

import re
from dataclasses import dataclass

from autograder.errors import CourseError
from autograder.grading.person import ANSWER
from autograder.handed_in.percent_cells import STUB

BEGIN = "### BEGIN SOLUTION"
END = "### END SOLUTION"
BEGIN_TEXT = "<!-- BEGIN SOLUTION -->"
END_TEXT = "<!-- END SOLUTION -->"
MARKERS = {".py": (BEGIN, END), ".md": (BEGIN_TEXT, END_TEXT)}
"""What stands around a solution, by the ending of its file."""


@dataclass
class _Region:
    """Where the solution began that is being cut out; line 0: none is."""

    where: str
    begin: str
    end: str
    opened: int = 0

    def open(self, line: int) -> None:
        if self.opened:
            raise CourseError(
                f"{self.where}, line {line}: {self.begin} inside the region that "
                f"line {self.opened} opened; close it first"
            )
        self.opened = line

    def close(self, line: int) -> None:
        if not self.opened:
            raise CourseError(
                f"{self.where}, line {line}: {self.end} without {self.begin}; "
                "remove it or open a region above"
            )
        self.opened = 0

    def finish(self) -> None:
        if self.opened:
            raise CourseError(
                f"{self.where}, line {self.opened}: {self.begin} is never closed; add {self.end}"
            )


def strip_code(text: str, where: str) -> str:
    """Cut each solution of a Python file down to nbgrader's stub, indented as the solution is."""
    kept: list[str] = []
    region = _Region(where, BEGIN, END)
    for number, line in enumerate(text.split("\n"), 1):
        mark = line.strip()
        if mark == BEGIN:
            region.open(number)
            indent = _indent(line, f"{where}, line {number}")
            kept += [indent + stub for stub in STUB]
        elif mark == END:
            region.close(number)
        elif re.search(r"(BEGIN|END)\s+SOLUTION", line):
            raise CourseError(
                f"{where}, line {number}: {mark!r} is almost a marker; "
                f"write exactly {BEGIN} or {END} on its own line"
            )
        elif not region.opened:
            kept.append(line)
    region.finish()
    return "\n".join(kept)


def _indent(line: str, where: str) -> str:
    indent = line[: len(line) - len(line.lstrip())]
    if not indent:
        raise CourseError(
            f"{where}: {BEGIN} outside a function; a region lies inside a function's body"
        )
    return indent


def strip_text(text: str, where: str) -> str:
    """Cut each model answer of a report down to a place for the student's own."""
    kept: list[str] = []
    region = _Region(where, BEGIN_TEXT, END_TEXT)
    line = 1
    for piece in re.split(f"({re.escape(BEGIN_TEXT)}|{re.escape(END_TEXT)})", text):
        if piece == BEGIN_TEXT:
            region.open(line)
            kept.append(ANSWER)
        elif piece == END_TEXT:
            region.close(line)
        elif not region.opened:
            kept.append(piece)
        line += piece.count("\n")
    region.finish()
    return "".join(kept)
