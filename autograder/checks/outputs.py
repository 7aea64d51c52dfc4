"""Judges tensors that a function returned, case by case, against a trusted run's: shape, dtype, then every number.

The probe is declared with `@part.outputs` and answers with `rig.answers()`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np

from autograder.checks.error_map import error_map
from autograder.checks.hints import Causes, cause
from autograder.checks.numerics import Array, share, shares, told_apart
from autograder.checks.result_form import NOTHING, Form, around, misfit, named, unquoted, wrong_keys
from autograder.model import (
    Failed,
    Observation,
    Pair,
    Passed,
    Timed,
    Verdict,
)
from autograder.probe import Close
from autograder.sandbox.calls import shares_of_allowed
from autograder.traces.words import many

FAINT = 0.01
"""A row counts as at least this share of a case's largest number: what is left of sums that cancel has no digits."""
ALIKE = 1e-3
"""Relative: so near are numbers to a multiple of the right ones."""
EMPTY = 1e-30
"""So small a multiple of the right numbers is none of a formula's."""
COARSE = 0.01
"""Relative: what is further off is no matter of rounding, so that what is allowed need not be told."""
ASKED = ".requires_grad"
"""Ends the name of an input that was told to need a gradient."""
LATE = ", in the backward pass"
"""Ends the name of an input that is changed while gradients are computed."""


def same(
    pair: Pair,
    within: float | Mapping[str, float],
    *,
    why: str | Causes,
    try_: str,
    without: Collection[str] = (),
) -> Passed | Failed:
    """Pass when each case agrees; *within* is relative to the largest number of each row, and may go by dtype.

    Cases that are named by one of the words *without* are left out.
    """
    worst, most, of = 0.0, 0.0, ""
    cases = [each for each in paired(pair) if not any(word in each[1]["case"] for word in without)]
    for case, asked, got, want in cases:
        told = f"{asked['case']} is None" if case["dtype"] == NOTHING else asked["case"]
        words, hint = cause(_specific(case, why), told, try_)
        keys = wrong_keys(case, asked)
        if keys and not any("names" in it for it in why):
            words, hint = keys, f"the keys must be {unquoted(asked)}"
        if problem := misfit(case, asked, got, words, hint):
            return problem
        assert got is not None
        apart = furthest(got, want, row=width(asked["shape"]))
        allowed = within if isinstance(within, float) else within[asked["dtype"]]
        if not apart <= allowed:
            measured = f"{named(asked)}: {_difference(asked, got, want, apart, allowed)}"
            evidence = shares(numbers=share(apart, allowed))
            where = _relative(got, want, width(asked["shape"]))
            evidence |= error_map(where, allowed, asked["case"], asked["shape"])
            if percentage := _as_percentage(got, want):
                words, hint = percentage, "leave out the factor 100"
            return Failed(measured, words, hint, evidence)
        if apart > worst:
            worst, of = apart, "" if isinstance(within, float) else f" ({asked['dtype']})"
        most = max(most, share(apart, allowed))
    measured = (
        f"{many(len(cases), 'case')}, off by at most {worst:.1e} of a row's largest number{of}"
    )
    return Passed(measured, shares(numbers=most))


def _specific(case: Form, why: str | Causes) -> str | Causes:
    """Leave out what is said of any case where an exception says more."""
    if isinstance(why, str) or not case["dtype"].startswith("raised "):
        return why
    return {words: it for words, it in why.items() if words}


def same_calls(timed: Timed, within: Close, *, why: str, try_: str) -> Verdict:
    """Pass when each number that the timed calls returned is as near as the clock asks for."""
    got = timed.student.arrays["outputs"]
    want = timed.baseline.arrays["outputs"]
    apart = (
        float(np.max(shares_of_allowed(got, want, within), initial=0.0))
        if got.shape == want.shape
        else np.inf
    )
    measured = f"off by {apart:.2g} times what is allowed: {within.atol:g} + {within.rtol:g} * |the right number|"
    evidence = shares(numbers=apart)
    return Passed(measured, evidence) if apart <= 1 else Failed(measured, why, try_, evidence)


def furthest(got: Array, want: Array, *, row: int = 0) -> float:
    """Return the largest difference in a row of so many numbers over the row's largest; without *row* all are one.

    It is infinite where NaN or infinity do not match.
    """
    if got.shape != want.shape:
        return float("inf")
    finite = np.isfinite(want)
    if (
        not np.array_equal(got[~finite], want[~finite], equal_nan=True)
        or not np.isfinite(got[finite]).all()
    ):
        return float("inf")
    if not finite.any():
        return 0.0
    return float(np.max(_relative(got, want, row or want.size)))


def width(shape: Sequence[int]) -> int:
    """Return how many numbers a row of a tensor has, its last dimension; one where there is none."""
    return int(shape[-1]) if shape else 1


def _as_percentage(got: Array, want: Array) -> str:
    """Say that a fraction was given in percent; or nothing."""
    is_fraction = want.size == 1 and 0 < want[0] < 1
    if is_fraction and math.isclose(got[0], 100 * want[0], rel_tol=1e-6):
        return "that is a percentage, 100 times the fraction that is expected"
    return ""


def _sizes(want: Array, row: int) -> Array:
    """Return for each number the largest of its row, and of all the least that counts."""
    size = np.where(np.isfinite(want), np.abs(want), 0.0)
    return np.repeat(
        np.maximum(size.reshape(-1, row).max(axis=1), FAINT * size.max()),
        row,
    )


def multiple(got: Array, want: Array, within: float) -> float | None:
    """Return how many times *want* each number of *got* is, where that is one number and not 1; else nothing."""
    if got.shape != want.shape or not np.isfinite(got).all():
        return None
    with np.errstate(all="ignore"):
        times = float(np.vdot(got, want) / np.vdot(want, want))
    alike = np.isfinite(times) and abs(times - 1) > within and furthest(got, times * want) <= within
    return times if alike else None


def unchanged(names: Sequence[str], *, try_: str) -> Passed | Failed:
    """Pass when no input was changed; *names* are those that were."""
    if not names:
        return Passed("every input is what it was")
    why = "your code changes an argument, which belongs to the caller"
    if all(name.endswith(ASKED) for name in names):
        why = "requires_grad_() changes the caller's tensor"
        try_ = "leave out the line with requires_grad_()"
    elif all(name.endswith(LATE) for name in names):
        why = "your backward pass writes into an argument, which belongs to the caller"
        try_ = "write into new tensors in backward: ctx.saved_tensors may be the caller's own"
    return Failed(f"changed: {', '.join(names[:6])}", why, try_)


def paired(pair: Pair) -> Iterator[tuple[Form, Form, Array | None, Array]]:
    """Cut both sides' numbers into cases: the student's form and numbers beside those asked for."""
    own = {case["case"]: (case, numbers) for case, numbers in _cut(pair.student)}
    for asked, want in _cut(pair.baseline):
        case, got = own.get(asked["case"]) or (around(own, asked["case"]), want[:0])
        yield case, asked, got if len(got) == len(want) else None, want


def _cut(observation: Observation) -> Iterator[tuple[Form, Array]]:
    """Give each case its numbers."""
    at, numbers = 0, observation.arrays["numbers"]
    for case in observation.values["cases"]:
        size = math.prod(case["shape"])
        yield case, numbers[at : at + size]
        at += size


def _difference(
    asked: Form,
    got: Array,
    want: Array,
    apart: float,
    allowed: float,
) -> str:
    """Say how a case differs: one number by what it is, several by how far and where."""
    if asked["dtype"] == "bool" and want.size == 1:
        return f"{bool(got[0])}, and {bool(want[0])} is right"
    if want.size == 1:
        own, right = told_apart(got[0], want[0], 15 if want[0].is_integer() else 6)
        return f"{own}, and {right} is right"
    return _alike(got, want) or _at_places(got, want, asked["shape"], apart, allowed)


def _alike(got: Array, want: Array) -> str:
    """Say that all numbers are wrong in one way; or nothing."""
    if not got.any():
        return "all numbers are 0"
    times = multiple(got, want, ALIKE)
    if times and abs(times) < EMPTY:
        return "all numbers are almost 0, as in memory that was never written"
    return f"all numbers are {times:.3g} times the right ones" if times else ""


def _at_places(
    got: Array,
    want: Array,
    shape: Sequence[int],
    apart: float,
    allowed: float,
) -> str:
    """Say how far some numbers are off, and where."""
    place = _place(got, want, shape)
    lost = int(np.sum(~np.isfinite(got)))
    if lost and np.isfinite(want).all():
        return f"{lost} of {got.size} numbers are NaN or infinite, one of them at {place}"
    if not allowed and np.isfinite(apart):
        wrong = np.flatnonzero(_gaps(got, want))
        first, at = wrong[0], [int(it) for it in np.unravel_index(wrong[0], tuple(shape))]
        counted = f"{len(wrong)} of {got.size} numbers differ"
        return f"{counted}, the first at {at}: {got[first]:.7g} instead of {want[first]:.7g}"
    own, right = (float(each.reshape(tuple(shape))[tuple(place)]) for each in (got, want))
    texts = told_apart(own, right, 6)
    measured = f"furthest off at {place}: your number is {texts[0]}, and {texts[1]} is right"
    if apart > COARSE:
        return measured
    largest = "the largest number" + " in this row" * (len(shape) > 1)
    return f"{measured}: off by {apart:.1e} of {largest}; allowed {allowed:.1e}"


def _place(got: Array, want: Array, shape: Sequence[int]) -> list[int]:
    """Return the index of the number that is furthest from the right one; what is not finite is."""
    relative = _relative(got, want, width(shape))
    return [int(it) for it in np.unravel_index(int(np.argmax(relative)), tuple(shape))]


def _relative(got: Array, want: Array, row: int) -> Array:
    """Return how far each number is from the right one, as a share of the largest of its row."""
    gaps = _gaps(got, want)
    with np.errstate(all="ignore"):
        return np.where(np.isnan(gaps), np.inf, gaps) / np.maximum(_sizes(want, row), 1e-30)


def _gaps(got: Array, want: Array) -> Array:
    """Return how far each number is from the right one; NaN and infinity are where they belong."""
    with np.errstate(all="ignore"):
        gaps: Array = np.where(
            (got == want) | (np.isnan(got) & np.isnan(want)),
            0.0,
            np.abs(got - want),
        )
    return gaps
