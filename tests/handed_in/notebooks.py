"""Notebooks of a part, and what is read from them."""

from __future__ import annotations

import json
from typing import Any

from autograder.handed_in.notebook import Released, read
from autograder.handed_in.percent_cells import STUB

TEMPLATE = f'''# %% [markdown]
# # Part 1
#
# Write it.

# %%
from __future__ import annotations

import math

# %%
def work(x):
    """Do it."""
    # TODO: do it.
    {STUB[0]}
    {STUB[1]}


# %%
if __name__ == "__main__":
    print(work(3))
'''
RELEASED = Released("2", {"part1_toy.py": TEMPLATE}, {"notes.md": ""})
NAME = "part1_toy.ipynb"
GIVEN, MAIN = (
    "from __future__ import annotations\n\nimport math",
    'if __name__ == "__main__":\n    print(work(3))',
)
STUBBED = f'def work(x):\n    """Do it."""\n    # TODO: do it.\n    {STUB[0]}\n    {STUB[1]}'
WORK = "def work(x):\n    return math.sqrt(x)"


def notebook(*sources: Any, **metadata: Any) -> bytes:
    cells = [one if isinstance(one, dict) else code(one) for one in sources]
    return json.dumps(
        {"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": cells}
    ).encode()


def code(source: Any, **more: Any) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "metadata": {},
        "outputs": [],
        "execution_count": None,
        "source": source,
        **more,
    }


def text(source: str, file: str = "") -> dict[str, Any]:
    return {
        "cell_type": "markdown",
        "metadata": {"perflab": {"file": file}} if file else {},
        "source": source,
    }


def code_of(*sources: Any, **metadata: Any) -> str:
    return read(notebook(*sources, **metadata), NAME, RELEASED).code.decode()


def notes_of(*sources: Any, **metadata: Any) -> list[str]:
    return list(read(notebook(*sources, **metadata), NAME, RELEASED).notes)


def run(source: str) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "part1_toy"}
    exec(compile(source, "part1_toy.py", "exec"), names)
    return names
