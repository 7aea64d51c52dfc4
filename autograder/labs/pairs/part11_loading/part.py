"""The part: what it has a student write, and how a loader of a table is made."""

from __future__ import annotations

from typing import Any

from autograder.claims.loaders import Loader
from autograder.lab import Part, Student

WRONG = 'see "What usually goes wrong" in the part 11 handout'
WRITTEN = ("Rows", "make_loader")
part = Part("part11_loading", writes=WRITTEN)


def bent(rows: Any) -> Any:
    """Transform any number of rows."""
    for _ in range(6):
        rows = rows.tanh().sin()
    return rows


def make(student: Student, data: Any, batch: int, device: Any, workers: int, seed: int) -> Any:
    """Make the loader of what has tensors, and perhaps a transform of its own."""
    rows = student.Rows(*data.tensors, getattr(data, "transform", bent))
    return student.make_loader(rows, batch, workers, device, seed)


loader = Loader(part, make, see=WRONG, takes=WRITTEN)
