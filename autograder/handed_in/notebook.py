"""A notebook read as a part file.

Nothing of it is executed or compiled: json and tokenize, no more.
The part file = the lab's given cells as they were released + what the student's code cells import,
define and assign, in the order of the notebook. What runs something (a training tried out, a plot)
is left out and named; but a value that is computed for a function (END = object()) is taken with
it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any

from autograder.errors import SubmissionError
from autograder.handed_in.percent_cells import STUB, Cell, cells_of
from autograder.handed_in.statements import split
from autograder.handed_in.student_cells import StudentCells, assembled, library

SUFFIX = ".ipynb"
OURS = "perflab"
"""The name of our metadata, of a notebook and of a cell."""
LONGEST = 256 * 1024
"""Characters in all cells: reading them takes a second or two."""


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
    released_texts = {statement.text for source in given for statement in split(source)}
    own = StudentCells(template, released_texts)
    for cell in cells:
        if cell.code and cell.source.strip("\n") not in given:
            own.take(replace(cell, source=_without_writefile(cell.source, file)))
    texts = {report: _text(cells, report) for report in released.texts}
    code = assembled([library(source) for source in given], own)
    notes = [*_version_notes(notebook, released.version), *own.notes()]
    return Reading(
        code.encode(errors="replace"),
        {report: text for report, text in texts.items() if text},
        tuple(f"{name}: {note}" for note in notes),
    )


def _without_writefile(source: str, file: str) -> str:
    """Cut the magic that writes a cell to the part file."""
    magic = rf"\A%%(?:writefile|file)\b.*\b{re.escape(file)}['\"]?[ \t]*$"
    return re.sub(magic, "", source, flags=re.MULTILINE)


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
