"""Judges how figures grow: exponents fitted to rows that were measured at several sizes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from autograder.checks.numerics import explained
from autograder.checks.table_form import Row

EXACT = 0.02  # of an exponent, absolutely: figures in a table may be rounded


def exponent(sizes: Sequence[float], figures: Sequence[float]) -> float:
    """Return the slope of log(figures) against log(sizes), by least squares; all of them are positive."""
    x, y = np.log(np.asarray(sizes, dtype=float)), np.log(np.asarray(figures, dtype=float))
    x = x - x.mean()
    return float((x * (y - y.mean())).sum() / (x * x).sum())


def exponent_problem(rows: Sequence[Row], size: str, figure: str, column: str) -> str:
    """Say where an exponent is not the slope of its rows; *size*, *figure* and *column* name their columns."""
    sizes, figures = [float(row[size]) for row in rows], [float(row[figure]) for row in rows]
    right = exponent(sizes, figures)
    wrong = next((row[column] for row in rows if abs(row[column] - right) > EXACT), None)
    if wrong is None:
        return ""
    ends = float(np.log(figures[-1] / figures[0]) / np.log(sizes[-1] / sizes[0]))
    stories = [
        (ends, "it joins the first and the last point, and leaves out the other lengths"),
        (1 / right if right else 0.0, "the axes are swapped"),
        (
            float(np.polyfit(sizes, figures, 1)[0]),
            "it is the slope of the figures and not of their logarithms",
        ),
        (float(np.polyfit(np.log(sizes), figures, 1)[0]), "only the lengths are logarithms"),
        (float(np.polyfit(sizes, np.log(figures), 1)[0]), "only the figures are logarithms"),
    ]
    words = (
        explained(wrong, stories, 0.005)
        or "it must be the slope of log against log, of all lengths"
    )
    return f"{column} is {wrong:.3g}, and the rows give {right:.3g}: {words}"


def exponents_problem(rows: Sequence[Row]) -> str:
    """Say which version's exponents are not the slopes of its rows."""
    for version in dict.fromkeys(row["version"] for row in rows):
        mine = [row for row in rows if row["version"] == version]
        if len({row["length"] for row in mine}) < 2:
            return f"{version} was measured at one length; a slope needs more"
        for figure, column in (("milliseconds", "time_exponent"), ("memory_mb", "memory_exponent")):
            problem = exponent_problem(mine, "length", figure, column)
            if problem:
                return f"{version}: {problem}"
    return ""
