"""Looks for the solution in what students get.

That is its lines, its markers, saved outputs, and metadata of unknown origin.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from autograder.course.cut_solutions import BEGIN, BEGIN_TEXT, END, END_TEXT

MARKERS = re.compile(r"(BEGIN|END) (SOLUTION|HIDDEN TESTS|MARK SCHEME)")
SHORTEST = 20
"""Characters: shorter lines, such as model.train(), say nothing."""
NOTEBOOK_METADATA = {"kernelspec", "language_info", "perflab"}
CELL_METADATA = {"nbgrader", "perflab", "deletable", "editable"}


def secrets(sources: Iterable[str], public: Iterable[str] = ()) -> frozenset[str]:
    """Return the lines of solutions that no file shows on purpose."""
    shown = {_bare(line) for text in public for line in text.split("\n")}
    hidden = {_bare(line) for text in sources for line in _solution(text)}
    return frozenset(
        line for line in hidden - shown if len(line) >= SHORTEST and not MARKERS.search(line)
    )


def _solution(text: str) -> Iterator[str]:
    inside = False
    for line in text.split("\n"):
        if BEGIN in line or BEGIN_TEXT in line:
            inside = True
        if END in line or END_TEXT in line:
            inside = False
        if inside:
            yield line


def in_file(name: str, data: bytes, hidden: frozenset[str]) -> list[str]:
    """Return the places where a file gives something away."""
    if name.endswith(".ipynb"):
        return in_notebook(name, json.loads(data), hidden)
    return _in_text(name, data.decode(errors="replace"), hidden)


def in_notebook(
    name: str,
    notebook: Mapping[str, Any],
    hidden: frozenset[str],
) -> list[str]:
    """Return the places where a notebook does: any text of it, wherever it stands."""
    problems: list[str] = []
    for text in _texts(notebook):
        problems += _in_text(name, text, hidden)
    strange = set(notebook["metadata"]) - NOTEBOOK_METADATA
    problems += [f"{name}: metadata '{key}'" for key in strange]
    for number, cell in enumerate(notebook["cells"], 1):
        place = f"{name}, cell {number}"
        strange = set(cell["metadata"]) - CELL_METADATA
        problems += [f"{place}: metadata '{key}'" for key in strange]
        if cell.get("outputs") or cell.get("execution_count") or cell.get("attachments"):
            problems.append(f"{place}: a saved output")
    return problems


def _bare(line: str) -> str:
    """A line that was made a comment is still that line."""
    return line.strip().lstrip("# ")


def _in_text(name: str, text: str, hidden: frozenset[str]) -> list[str]:
    lines = enumerate(text.split("\n"), 1)
    return [
        f"{name}, line {number}: {line.strip()[:60]!r}"
        for number, line in lines
        if _bare(line) in hidden or MARKERS.search(line)
    ]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, content in value.items():
            yield key
            yield from _texts(content)
    elif isinstance(value, list):
        if all(isinstance(item, str) for item in value):
            # nbformat writes a source as a list of lines.
            yield "".join(value)
        else:
            for item in value:
                yield from _texts(item)
