"""What gives a solution away is found wherever it stands; what students may see anyway is no leak."""

from __future__ import annotations

import json
from typing import Any

import pytest

from autograder.nbgrader.leaks import in_file, secrets

SOURCE = """def work(x):
    # open to all
    ### BEGIN SOLUTION
    answer = math.sqrt(x) + 1
    model.train(True)
    y = 1  # short
    ### END SOLUTION
"""
REPORT = "Why?\n<!-- BEGIN SOLUTION -->\nBecause of the tensor cores.\n<!-- END SOLUTION -->\n"
HIDDEN = secrets([SOURCE, REPORT], ["model.train(True)\n"])
LINE = "answer = math.sqrt(x) + 1"


def notebook(**changes: Any) -> bytes:
    cell = {
        "cell_type": "code",
        "id": "a",
        "metadata": {},
        "source": "x = 1",
        "outputs": [],
        "execution_count": None,
    }
    whole = {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {"kernelspec": {}},
        "cells": [cell | changes],
    }
    return json.dumps(whole).encode()


def test_secrets_are_the_lines_that_stand_in_solutions_alone():
    """Short lines and those that are shown on purpose say nothing."""
    assert {LINE, "Because of the tensor cores."} == HIDDEN


LEAKS = {
    "a line of code": ("x.py", f"y\n  {LINE}\n".encode(), [f"x.py, line 2: '{LINE}'"]),
    "a comment": ("x.py", f"# {LINE}".encode(), [f"x.py, line 1: '# {LINE}'"]),
    "an answer": (
        "notes.md",
        b"Because of the tensor cores.",
        ["notes.md, line 1: 'Because of the tensor cores.'"],
    ),
    "a marker": ("x.py", b"    ### END SOLUTION", ["x.py, line 1: '### END SOLUTION'"]),
    "a cell": ("n.ipynb", notebook(source=["x\n", f"    {LINE}"]), [f"n.ipynb, line 2: '{LINE}'"]),
    "hidden tests": (
        "n.ipynb",
        notebook(source="### BEGIN HIDDEN TESTS"),
        ["n.ipynb, line 1: '### BEGIN HIDDEN TESTS'"],
    ),
    "an output": ("n.ipynb", notebook(outputs=[{"data": {}}]), ["n.ipynb, cell 1: a saved output"]),
    "a run": ("n.ipynb", notebook(execution_count=3), ["n.ipynb, cell 1: a saved output"]),
    "an attachment": (
        "n.ipynb",
        notebook(attachments={"a.png": {}}),
        ["n.ipynb, cell 1: a saved output"],
    ),
    "metadata": (
        "n.ipynb",
        notebook(metadata={"answer": [LINE, 1]}),
        [f"n.ipynb, line 1: '{LINE}'", "n.ipynb, cell 1: metadata 'answer'"],
    ),
    "nothing in a notebook": ("n.ipynb", notebook(), []),
    "nothing in a file": ("x.py", b"y = 1\nmodel.train(True)\n", []),
    "nothing in a picture": ("x.png", b"\x89PNG\xff", []),
}


@pytest.mark.parametrize(("name", "data", "found"), LEAKS.values(), ids=LEAKS)
def test_a_leak_is_named_with_its_place(name, data, found):
    """In code, reports, cells, outputs and metadata."""
    assert found == in_file(name, data, HIDDEN)
