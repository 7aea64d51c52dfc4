"""A notebook read as a part file. Nothing of it is executed or compiled: json and tokenize, no more.

The part file = the lab's given cells as they were released + what the student's code cells import,
define and assign, in the order of the notebook. What runs something (a training tried out, a plot)
is left out and named; but a value that is computed for a function (END = object()) is taken with
it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
from pathlib import PurePath
from textwrap import dedent
from typing import Any

from autograder.errors import CourseError, SubmissionError
from autograder.handed_in.statements import Statement, plain, split

SUFFIX = ".ipynb"
STUB = ("# YOUR CODE HERE", "raise NotImplementedError()")
"""nbgrader's, so that both tools cut alike."""
CODE = "# %%"
TEXT = "# %% [markdown]"
OURS = "perflab"
"""The name of our metadata, of a notebook and of a cell."""
TAKEN = ("import", "definition", "assignment", "constant")
LONGEST = 256 * 1024
"""Characters in all cells: reading them takes a second or two."""
NAMED = 12
"""Statements and cells that one note names."""


@dataclass(frozen=True)
class Cell:
    """A cell of a percent file or of a notebook."""

    number: int
    """Counted from 1, text cells included, as the reader of a notebook counts."""
    code: bool
    source: str
    file: str = ""
    """The report that a text cell is part of."""


@dataclass(frozen=True)
class Released:
    """What students were given of a lab, as far as reading their notebooks needs it."""

    version: str = ""
    templates: Mapping[str, str] = field(default_factory=dict)
    """Part file -> its text as it was handed out."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """Report -> its text as it was handed out; a report may be written in a notebook."""

    @property
    def notebooks(self) -> Mapping[str, str]:
        """Notebook -> the part file that it stands for."""
        return {f"{PurePath(file).stem}{SUFFIX}": file for file in self.templates}


NOTHING = Released()


@dataclass(frozen=True)
class Reading:
    """A notebook as files, and what its author should know about that."""

    code: bytes
    texts: Mapping[str, bytes]
    notes: tuple[str, ...]


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


def read(data: bytes, name: str, released: Released) -> Reading:
    """Read the notebook *name* as its part file; one that cannot be read says why."""
    notebook = parsed(data)
    file = released.notebooks[name]
    template = released.templates[file]
    cells = list(_cells(notebook))
    if sum(len(cell.source) for cell in cells) > LONGEST:
        raise SubmissionError(
            f"its cells hold more than {LONGEST // 1024} KiB; keep the part and what it needs"
        )
    given = [
        cell.source for cell in cells_of(template, name) if cell.code and STUB[1] not in cell.source
    ]
    work = _Work(template, {statement.text for source in given for statement in split(source)})
    for cell in cells:
        if cell.code and cell.source.strip("\n") not in given:
            work.take(replace(cell, source=_without_writefile(cell.source, file)))
    texts = {report: _text(cells, report) for report in released.texts}
    code = _assembled([_library(source) for source in given], work)
    notes = [*_version_notes(notebook, released.version), *work.notes()]
    return Reading(
        code.encode(errors="replace"),
        {report: text for report, text in texts.items() if text},
        tuple(f"{name}: {note}" for note in notes),
    )


def _without_writefile(source: str, file: str) -> str:
    """Cut the magic that writes a cell to the part file."""
    magic = rf"\A%%(?:writefile|file)\b.*\b{re.escape(file)}['\"]?[ \t]*$"
    return re.sub(magic, "", source, flags=re.MULTILINE)


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

    return re.sub(rf"(?:{re.escape(file)}, |(?<=\()|(?<=\), ))line (?P<line>\d+)", placed, text)


def unwritten(code: bytes) -> int:
    """Count the places that were left as they were handed out."""
    return code.count(STUB[0].encode())


def conflict(data: bytes) -> str:
    """Return that git could not merge a file and left its marks in it."""
    marks = (b"<<<<<<< ", b"\n=======", b"\n>>>>>>> ")
    if all(mark in data for mark in marks):
        return "git left its marks of a conflict in it; settle that, and save it again"
    return ""


def parsed(data: bytes) -> Mapping[str, Any]:
    """Read what can be read as a notebook with cells, in any of Unicode's encodings."""
    problem = conflict(data)
    if problem:
        raise SubmissionError(problem)
    try:
        notebook = json.loads(data)
    except (ValueError, RecursionError):
        raise SubmissionError("it is damaged, or no notebook; save it again") from None
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        raise SubmissionError(
            "it has no cells, or is of an old format; open it in Jupyter and save it again"
        )
    return notebook


def _cells(notebook: Mapping[str, Any]) -> Iterator[Cell]:
    file = ""
    for number, cell in enumerate(notebook["cells"], 1):
        if isinstance(cell, dict) and cell.get("cell_type") in ("code", "markdown", "raw"):
            code = cell["cell_type"] == "code"
            metadata = record(cell.get("metadata"))
            # A text in a new cell is an answer to the question above it.
            own = "" if code or metadata.get("nbgrader") else file
            file = str(record(metadata.get(OURS)).get("file", own))
            source = source_of(cell).replace("\r\n", "\n").replace("\r", "\n")
            yield Cell(number, code, source, file)


def source_of(cell: Mapping[str, Any]) -> str:
    """Read the text of a cell: a text or a list of them; anything else is empty."""
    source = cell.get("source")
    pieces = source if isinstance(source, list) else [source]
    text = "".join(piece for piece in pieces if isinstance(piece, str))
    # Half of a character, as \ud83d, is no text.
    return text.encode(errors="replace").decode()


def record(value: Any) -> Mapping[str, Any]:
    """Take for empty what should be a record and is none."""
    return value if isinstance(value, dict) else {}


def _version_notes(notebook: Mapping[str, Any], current: str) -> Iterator[str]:
    version = record(record(notebook.get("metadata")).get(OURS)).get("version", current)
    if version != current:
        released = str(version)[:20]
        yield f"released as version {released}, graded by version {current}; see CHANGELOG.md"


def _text(cells: Sequence[Cell], name: str) -> bytes:
    pieces = [cell.source.strip("\n") for cell in cells if not cell.code and cell.file == name]
    return "\n\n".join(pieces).encode(errors="replace") + b"\n" if pieces else b""


class _Work:
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


def _library(source: str) -> str:
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


def _assembled(given: Sequence[str], work: _Work) -> str:
    futures = dict.fromkeys(["from __future__ import annotations", *work.futures()])
    pieces = ["\n".join(futures), *filter(None, given), *work.sources()]
    return "\n\n".join(pieces) + "\n"


def _listed(items: Sequence[str]) -> str:
    more = len(items) - NAMED
    return "; ".join(items[:NAMED]) + (f"; and {more} more" if more > 0 else "")
