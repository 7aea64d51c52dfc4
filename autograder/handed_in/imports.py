"""What a part's file may import, so that it runs wherever it is graded."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator

from autograder.handed_in.tokens import Word, words

PACKAGES = ("torch", "torchvision", "numpy", "pandas", "matplotlib", "PIL", "tqdm")
ALLOWED = f"the standard library, {', '.join(PACKAGES)} and given"
KNOWN = frozenset([*sys.stdlib_module_names, *PACKAGES, "given", "baseline"])
# What may stand before a statement on its line, besides nothing.
BEFORE = (";", ":")


def others(source: str, beside: Collection[str] = ()) -> dict[str, int]:
    """Name the modules that a file imports anywhere and may not, each with its line; *beside*: files beside it."""
    found: dict[str, int] = {}
    for module, line in imported(source):
        if module not in KNOWN and f"{module}.py" not in beside:
            found.setdefault(module, line)
    return found


def imported(source: str) -> Iterator[tuple[str, int]]:
    """Name the first part of each module that is imported, with the line."""
    statement: list[Word] = []
    for word in [*words(source), Word("mark", ";", "", 0)]:
        begins = word.string in BEFORE or (statement and word.line != statement[-1].line)
        if begins:
            yield from _modules(statement)
            statement = []
        if word.string not in BEFORE:
            statement.append(word)


def _modules(statement: list[Word]) -> Iterator[tuple[str, int]]:
    said = [word.string for word in statement]
    if len(said) > 1 and said[0] == "from" and said[1].isidentifier() and "import" in said[2:]:
        yield said[1], statement[0].line
    if len(said) > 1 and said[0] == "import":
        first = [at for at in range(1, len(said)) if at == 1 or said[at - 1] == ","]
        yield from ((said[at], statement[at].line) for at in first if said[at].isidentifier())
