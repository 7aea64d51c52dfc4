"""Looks for the solution in what students get: its lines, its markers, saved outputs, metadata of unknown origin."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from autograder.course.solutions import BEGIN, BEGIN_TEXT, END, END_TEXT

MARKERS = re.compile(r"(BEGIN|END) (SOLUTION|HIDDEN TESTS|MARK SCHEME)")
SHORTEST = 20  # characters: shorter lines, such as model.train(), say nothing
NOTEBOOK_METADATA = {"kernelspec", "language_info", "perflab"}
CELL_METADATA = {"nbgrader", "perflab", "deletable", "editable"}


def secrets(sources: Iterable[str], public: Iterable[str] = ()) -> frozenset[str]:
    """Lines of solutions that no file shows on purpose."""
    hidden: set[str] = set()
    shown = {_bare(line) for text in public for line in text.split("\n")}
    for text in sources:
        inside = False
        for line in text.split("\n"):
            inside = (
                (inside or BEGIN in line or BEGIN_TEXT in line)
                and END not in line
                and END_TEXT not in line
            )
            hidden |= {_bare(line)} if inside else set()
    return frozenset(
        line for line in hidden - shown if len(line) >= SHORTEST and not MARKERS.search(line)
    )


def in_file(name: str, data: bytes, hidden: frozenset[str]) -> list[str]:
    """Say where a file gives something away."""
    if name.endswith(".ipynb"):
        return in_notebook(name, json.loads(data), hidden)
    return _in_text(name, data.decode(errors="replace"), hidden)


def in_notebook(name: str, notebook: Mapping[str, Any], hidden: frozenset[str]) -> list[str]:
    """Say where a notebook does: any text of it, wherever it stands."""
    found = [problem for text in _texts(notebook) for problem in _in_text(name, text, hidden)]
    found += [f"{name}: metadata '{key}'" for key in set(notebook["metadata"]) - NOTEBOOK_METADATA]
    for number, cell in enumerate(notebook["cells"], 1):
        found += [
            f"{name}, cell {number}: metadata '{key}'"
            for key in set(cell["metadata"]) - CELL_METADATA
        ]
        if cell.get("outputs") or cell.get("execution_count") or cell.get("attachments"):
            found.append(f"{name}, cell {number}: a saved output")
    return found


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
        yield from (text for key, one in value.items() for text in (key, *_texts(one)))
    elif isinstance(value, list):
        # nbformat writes a source as a list of lines
        yield from (
            ["".join(value)]
            if all(isinstance(one, str) for one in value)
            else (t for v in value for t in _texts(v))
        )
