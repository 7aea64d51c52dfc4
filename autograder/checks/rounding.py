"""Judges results whose rounding is the lesson: not too far from the exact ones, and not too near either."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from autograder.checks.hints import Causes, cause
from autograder.checks.numerics import Array, norm, share, shares
from autograder.checks.outputs import paired, width
from autograder.checks.result_form import misfit, named
from autograder.model import Failed, Pair, Passed
from autograder.traces.words import many

TWICE = 2.2
"""As many times as large is an error whose numbers have one bit less, and a little more."""


def between(
    pair: Pair,
    low: float,
    high: float,
    *,
    why: str | Causes,
    exact: str | tuple[str, str],
    coarse: str | tuple[str, str] = "",
    try_: str,
) -> Passed | Failed:
    """Pass when the relative error of each case lies between both bounds, with its largest row and without.

    The error is |result - right| / |right|; *exact* is the why of one that is too small, *coarse* of one up to TWICE
    *high*.
    """
    errors = [0.0]
    for case, asked, got, want in paired(pair):
        words, hint = cause(why, asked["case"], try_)
        if problem := misfit(case, asked, got, words, hint):
            return problem
        assert got is not None
        for rows, error in _errors(got, want, width(asked["shape"])):
            place = f"{named(asked)}{rows}: error {error:.1e}"
            if not error <= high:
                measured = f"{place}; at most {high:.0e} is allowed"
                evidence = shares(error=share(error, high))
                if coarse and error <= TWICE * high:
                    words, hint = cause({"": coarse}, "", try_)
                return Failed(measured, words, hint, evidence)
            if error < low:
                words, hint = cause({"": exact}, "", try_)
                return Failed(f"{place}; at least {low:.0e} is expected", words, hint)
            errors.append(error)
    measured = f"{many(len(errors) - 1, 'error')}, {max(errors):.1e} at most"
    return Passed(measured, shares(error=share(max(errors), high)))


def _errors(got: Array, want: Array, row: int) -> Iterator[tuple[str, float]]:
    """Return the error of all rows, and of all but the one that outweighs them; of zeros only what is wrong."""
    got, want = got.reshape(-1, row), want.reshape(-1, row)
    rest = np.arange(len(want)) != np.argmax(np.abs(want).sum(axis=1)) if want.size else []
    for rows, kept in (("", slice(None)), (" without its largest row", rest)):
        size = norm(want[kept])
        if size or np.any(got[kept]):
            yield rows, norm(got[kept] - want[kept]) / size if size else np.inf
