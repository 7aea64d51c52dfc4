"""What a part's file may import, so that it runs wherever it is graded."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator
from itertools import pairwise

from autograder.handed_in.tokens import Word, words

PACKAGES = ("torch", "torchvision", "numpy", "pandas", "matplotlib", "PIL", "tqdm")
ALLOWED = f"the standard library, {', '.join(PACKAGES)} and given"
INSTALLED = frozenset([*sys.stdlib_module_names, *PACKAGES, "given", "baseline"])
BEFORE = (";", ":")
"""What may stand before a statement on its line, besides nothing."""


def others(source: str, beside: Collection[str] = ()) -> dict[str, int]:
    """Return the modules that a file imports anywhere and may not, each with its line.

    Files *beside* it may be imported.
    """
    lines: dict[str, int] = {}
    for module, line in imported(source):
        if module not in INSTALLED and f"{module}.py" not in beside:
            lines.setdefault(module, line)
    return lines


def without(source: str, template: str) -> str:
    """Return a file with nothing on its lines of imports that its template has, indented alike."""
    given = {
        line for line in template.splitlines() if line.lstrip().startswith(("from ", "import "))
    }
    return "\n".join("" if line in given else line for line in source.splitlines())


def imported(source: str) -> Iterator[tuple[str, int]]:
    """Name the first part of each module that is imported, with the line."""
    statement: list[Word] = []
    for word in [*words(source), Word("mark", ";", "", 0)]:
        is_next_line = bool(statement) and word.line != statement[-1].line
        if word.string in BEFORE or is_next_line:
            yield from _modules(statement)
            statement = []
        if word.string not in BEFORE:
            statement.append(word)


def _modules(statement: list[Word]) -> Iterator[tuple[str, int]]:
    if len(statement) < 2:
        return
    texts = [word.string for word in statement]
    if texts[0] == "from" and texts[1].isidentifier() and "import" in texts[2:]:
        yield texts[1], statement[0].line
    if texts[0] == "import":
        for before, word in pairwise(statement):
            if before.string in ("import", ",") and word.string.isidentifier():
                yield word.string, word.line
