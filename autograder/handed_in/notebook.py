"""A notebook read as a part file. Nothing of it is executed or compiled: json and tokenize, no more.

The part file = the lab's given cells as they were released + what the student's code cells import, define and assign,
in the order of the notebook. What runs something (a training tried out, a plot) is left out and named; but a value that
is computed for a function (END = object()) is taken with it.
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
STUB = (
    "# YOUR CODE HERE",
    "raise NotImplementedError()",
)  # nbgrader's, so that both tools cut alike
CODE, TEXT = "# %%", "# %% [markdown]"
OURS = "perflab"  # the name of our metadata, of a notebook and of a cell
TAKEN = ("import", "definition", "assignment", "constant")
LONGEST = 256 * 1024  # characters in all cells: reading them takes a second or two
NAMED = 12  # statements and cells that one note names


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
    """Split a percent file at its markers; a marker with anything else on its line is refused, not guessed."""
    cells: list[Cell] = []
    lines: list[str] = []
    code = True
    for number, line in enumerate([*text.split("\n"), CODE], 1):
        if line in (CODE, TEXT):
            if source := "\n".join(lines).strip("\n"):
                cells.append(
                    Cell(len(cells) + 1, code, source if code else _uncommented(source, where))
                )
            lines, code = [], line == CODE
        elif re.match(r"#\s*%%", line):
            raise CourseError(
                f"{where}, line {number}: {line!r} is almost a marker; write exactly {CODE} or {TEXT}"
            )
        else:
            lines.append(line)
    return cells


def _uncommented(source: str, where: str) -> str:
    lines = source.split("\n")
    if bare := [line for line in lines if line and not line.startswith("#")]:
        raise CourseError(
            f"{where}: {bare[0]!r} stands in a text cell without '# ' before it; put {CODE} above code"
        )
    return "\n".join(re.sub("^# ?", "", line) for line in lines)


def read(data: bytes, name: str, released: Released) -> Reading:
    """Read the notebook *name* as its part file; one that cannot be read says why."""
    notebook = parsed(data)
    cells, template = list(_cells(notebook)), released.templates[released.notebooks[name]]
    if sum(len(cell.source) for cell in cells) > LONGEST:
        raise SubmissionError(
            f"its cells hold more than {LONGEST // 1024} KiB; keep the part and what it needs"
        )
    given = [cell for cell in cells_of(template, name) if cell.code and STUB[1] not in cell.source]
    untouched = {cell.source for cell in given}
    seen = _Seen(template, {statement.text for cell in given for statement in split(cell.source)})
    writes = re.compile(
        rf"\A%%(?:writefile|file)\b.*\b{re.escape(released.notebooks[name])}['\"]?[ \t]*$",
        re.MULTILINE,
    )
    for cell in cells:
        if cell.code and cell.source.strip("\n") not in untouched:
            seen.take(replace(cell, source=writes.sub("", cell.source)))
    texts = {name: text for name in released.texts if (text := _text(cells, name))}
    code = _assembled([_library(cell.source) for cell in given], seen)
    notes = [*_version_notes(notebook, released.version), *seen.notes()]
    return Reading(code.encode(errors="replace"), texts, tuple(f"{name}: {note}" for note in notes))


def cells_in(code: bytes) -> list[tuple[int, str]]:
    """Find the line of a part file below which each cell's lines stand; none where it was no notebook."""
    lines = enumerate(code.decode(errors="replace").split("\n"), 1)
    return [
        (n, line.removeprefix(f"{CODE} "))
        for n, line in lines
        if re.fullmatch(rf"{CODE} cell \d+", line)
    ]


def in_cells(text: str, file: str, cells: Sequence[tuple[int, str]]) -> str:
    """Name cells, which a notebook's author can find, where *text* names lines of the part file made of them."""

    def placed(found: re.Match[str]) -> str:
        number = int(found["line"])
        above = [(first, cell) for first, cell in cells if first < number]
        return f"{above[-1][1]}, line {number - above[-1][0]}" if above else found[0]

    return re.sub(rf"(?:{re.escape(file)}, |(?<=\()|(?<=\), ))line (?P<line>\d+)", placed, text)


def unwritten(code: bytes) -> int:
    """Count the places that were left as they were handed out."""
    return code.count(STUB[0].encode())


def conflict(data: bytes) -> str:
    """Say that git could not merge a file and left its marks in it; nothing where it did not."""
    marks = (b"<<<<<<< ", b"\n=======", b"\n>>>>>>> ")
    there = all(mark in data for mark in marks)
    return "git left its marks of a conflict in it; settle that, and save it again" if there else ""


def parsed(data: bytes) -> Mapping[str, Any]:
    """Read what can be read as a notebook with cells, in any of Unicode's encodings."""
    if problem := conflict(data):
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
            code, metadata = cell["cell_type"] == "code", record(cell.get("metadata"))
            own = (
                "" if code or metadata.get("nbgrader") else file
            )  # an answer in a new cell, below the question
            file = str(record(metadata.get(OURS)).get("file", own))
            yield Cell(
                number, code, source_of(cell).replace("\r\n", "\n").replace("\r", "\n"), file
            )


def source_of(cell: Mapping[str, Any]) -> str:
    """Read what a cell says: a text or a list of them; anything else says nothing."""
    source = cell.get("source")
    said = "".join(
        piece
        for piece in (source if isinstance(source, list) else [source])
        if isinstance(piece, str)
    )
    return said.encode(errors="replace").decode()  # half of a character, as \ud83d, is no text


def record(found: Any) -> Mapping[str, Any]:
    """Take for empty what should be a record and is none."""
    return found if isinstance(found, dict) else {}


def _version_notes(notebook: Mapping[str, Any], current: str) -> Iterator[str]:
    version = record(record(notebook.get("metadata")).get(OURS)).get("version", current)
    if version != current:
        yield f"released as version {str(version)[:20]}, graded by version {current}; see CHANGELOG.md"


def _text(cells: Sequence[Cell], name: str) -> bytes:
    pieces = [cell.source.strip("\n") for cell in cells if not cell.code and cell.file == name]
    return "\n\n".join(pieces).encode(errors="replace") + b"\n" if pieces else b""


class _Seen:
    """What was taken of the cells so far, and what was left out."""

    def __init__(self, template: str, given: Collection[str]) -> None:
        self._template, self._given = template, given
        self._asked = set(re.findall(r"^(?:async )?(?:def|class) (\w+)", template, re.MULTILINE))
        self._cells: list[tuple[Cell, list[Statement]]] = []
        self._broken: list[str] = []

    def take(self, cell: Cell) -> None:
        """Add a cell of the student's."""
        indented = cell.source[:1] in (" ", "\t")  # Jupyter runs that too
        cell = replace(cell, source=plain(dedent(cell.source) if indented else cell.source))
        try:
            statements = split(cell.source)
        except SyntaxError as error:
            self._broken.append(f"cell {cell.number} ({error.msg[:60]})")
            return
        self._cells.append((cell, [s for s in statements if s.text not in self._given]))

    def futures(self) -> list[str]:
        """Imports that must stand first in a file."""
        return [s.text for _, group in self._cells for s in group if s.kind == "future"]

    def sources(self) -> Iterator[str]:
        """Each cell's own lines, under a line that says where they come from."""
        needed = self._needed()
        for cell, group in self._cells:
            taken = [s for s in group if self._is_taken(s, needed)]
            if any(s.kind != "constant" for s in taken):
                yield f"{CODE} cell {cell.number}\n" + _lines(cell.source, taken)

    def notes(self) -> Iterator[str]:
        """Say what was left out, and what stands twice."""
        needed = self._needed()
        left_out = [
            f"cell {cell.number}, line {s.first}: {s.text.strip().splitlines()[0][:60]}"
            for cell, group in self._cells
            for s in group
            if s.kind in ("other", "computed") and not self._is_taken(s, needed)
        ]
        if self._broken:
            yield f"left out, because it cannot be read as Python of this part: {_listed(self._broken)}"
        if left_out:
            why = "left out, because it runs something when the file is read; that is fine where you tried things out"
            yield f"{why}: {_listed(left_out)}"
        for name, numbers in self._definitions().items():
            if len(numbers) > 1:
                cells = f"cells {', '.join(map(str, numbers))}"
                yield f"{name} is defined in {cells}; the last one counts that is written"

    def _is_taken(self, statement: Statement, needed: Collection[str]) -> bool:
        if statement.kind == "computed":
            return not statement.sets.isdisjoint(needed)
        if (
            statement.kind in ("import", "assignment") and statement.sets
        ):  # as little as can be of what was tried out
            return any(self._mentions[name] > 1 for name in statement.sets)
        return statement.kind in TAKEN and not (
            _is_stub(statement) and statement.name in self._written
        )

    def _needed(self) -> set[str]:
        """Names that what is taken rests on: a computed value may rest on another."""
        statements = [s for _, group in self._cells for s in group]
        needed = {name for s in statements if s.kind in TAKEN for name in s.uses} | self._asked
        setters: dict[str, list[Statement]] = {}
        for s in statements:
            for name in s.sets if s.kind == "computed" else ():
                setters.setdefault(name, []).append(s)
        waiting = list(needed)
        while waiting:
            more = {name for s in setters.pop(waiting.pop(), ()) for name in s.uses} - needed
            needed |= more
            waiting += more
        return needed

    def _definitions(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for cell, group in self._cells:
            for name in {s.name for s in group if s.kind == "definition" and s.name != "_"}:
                found.setdefault(name, []).append(cell.number)
        return found

    @cached_property
    def _mentions(self) -> Counter[str]:
        """How many of the statements that may be taken have a word, each itself included, and the template as one."""
        texts = [
            s.text for _, group in self._cells for s in group if s.kind in (*TAKEN, "computed")
        ]
        return Counter(
            word for text in (self._template, *texts) for word in set(re.findall(r"\w+", text))
        )

    @cached_property
    def _written(self) -> set[str]:
        return {
            s.name
            for _, group in self._cells
            for s in group
            if s.kind == "definition" and not _is_stub(s)
        }


def _is_stub(statement: Statement) -> bool:
    return statement.kind == "definition" and STUB[1] in statement.text


def _library(source: str) -> str:
    """Cut a given cell down to what a file defines: no future imports, no experiments."""
    return _lines(source, [s for s in split(source) if s.kind in TAKEN])


def _lines(source: str, taken: Sequence[Statement]) -> str:
    """Keep the lines of these statements, and comments; the others stay, empty, so that line numbers do not move."""
    lines, kept = (
        source.split("\n"),
        {number for s in taken for number in range(s.first, s.last + 1)},
    )
    for number, of_one_line in groupby((s for s in taken if s.first == s.last), lambda s: s.first):
        whole = "; ".join(s.text for s in of_one_line)
        if not re.fullmatch(re.escape(whole) + r"\s*(#.*)?", lines[number - 1]):
            lines[number - 1] = whole  # its other statements are not taken
    return "\n".join(
        line if n in kept or line.startswith("#") else "" for n, line in enumerate(lines, 1)
    ).rstrip()


def _assembled(given: Sequence[str], seen: _Seen) -> str:
    futures = dict.fromkeys(["from __future__ import annotations", *seen.futures()])
    return "\n\n".join(["\n".join(futures), *filter(None, given), *seen.sources()]) + "\n"


def _listed(items: Sequence[str]) -> str:
    more = len(items) - NAMED
    return "; ".join(items[:NAMED]) + (f"; and {more} more" if more > 0 else "")
