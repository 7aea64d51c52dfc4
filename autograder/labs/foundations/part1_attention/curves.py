"""Judges figures of curves: their axes, where their points stand, and that each version has a line of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from autograder.checks.numerics import close
from autograder.checks.plot import LETTER, drawn_as, shows

Noted = TypeVar("Noted")


def linear(
    panels: Sequence[Mapping[str, Any]],
    scales: Sequence[str],
    rows: Sequence[Mapping[str, Any]],
    names: Iterable[str],
) -> str:
    """Say which column of *rows* is drawn on a linear axis only; *scales* are those of the panels: 'linear log'."""
    for name in names:
        drawn = _beside(panels, scales, rows, name)
        if all("linear" in scale for scale in drawn):
            if not drawn:
                return f"there is no panel of {name}"
            x, y = drawn[0].split()
            return f"in the panel of {name} x is {x} and y is {y}, and both must be logarithmic"
    return ""


def displaced(
    panels: Sequence[Mapping[str, Any]],
    across: Sequence[Sequence[float]],
    rows: Sequence[Mapping[str, Any]],
    names: Iterable[str],
    size: str,
) -> str:
    """Say which column of *rows* is drawn against other numbers than their *size*, also in thousands.

    *across* is where the points of each panel stand on the x axis.
    """
    wanted = [row[size] for row in rows]
    for name in names:
        drawn = _beside(panels, across, rows, name)
        if not any(_stand_at(wanted, places, unit) for places in drawn for unit in (1, 1000, 1024)):
            return f"the points of {name} do not stand at the {size} of their rows"
    return ""


def _stand_at(wanted: Sequence[float], places: Sequence[float], unit: float) -> bool:
    return all(any(close(place * unit, expected, 0.01) for place in places) for expected in wanted)


def _beside(
    panels: Sequence[Mapping[str, Any]],
    noted: Sequence[Noted],
    rows: Sequence[Mapping[str, Any]],
    name: str,
) -> list[Noted]:
    """Return what is noted of the panels that show a column of *rows*."""
    return [note for panel, note in zip(panels, noted, strict=False) if shows(panel, rows, name)]


def merged(
    panels: Sequence[Mapping[str, Any]],
    rows: Sequence[Mapping[str, Any]],
    names: Iterable[str],
    column: str,
) -> str:
    """Say which column of *rows* is one line under one name, where each of a *column* has a line of its own."""
    keys = list(dict.fromkeys(row[column] for row in rows))
    for name in names:
        drawn = [
            {
                word
                for panel in panels
                for row in rows
                if row[column] == key
                for word in drawn_as(panel, row.get(name))
            }
            for key in keys
        ]
        said = all(map(LETTER.search, drawn[0])) and not any(
            key in panel["title"] for key in keys for panel in panels
        )
        if said and len(keys) > 1 and all(words == drawn[0] for words in drawn):
            return f"{name} is one line for {' and '.join(keys)}"
    return ""
