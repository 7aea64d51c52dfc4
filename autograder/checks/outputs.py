"""Judges tensors that a function returned, case by case, against a trusted run's: shape, dtype, then every number.

The probe is declared with `@part.outputs` and answers with `rig.answers()`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from autograder.checks.numerics import Array, share, shares
from autograder.model import Failed, Pair, Passed, Timed, Verdict

HOLDS_NAN = "it holds NaN or infinity where a number belongs: "

Why = str | Mapping[str, str]
"""What to say of numbers that differ; or by words in the name of the case, the first that fit."""


def same(pair: Pair, within: float | Mapping[str, float], *, why: Why, try_: str) -> Verdict:
    """Pass when each case agrees; *within* is relative to the case's largest number, and may go by dtype."""
    worst = most = 0.0
    for case, asked, got, want in _cases(pair):
        if got is None or (case["shape"], case["dtype"]) != (asked["shape"], asked["dtype"]):
            returned = f"{asked['case']}: {_form(case)} instead of {_form(asked)}"
            return Failed(returned, "the result has another form than was asked for", try_)
        apart = furthest(got, want)
        allowed = within if isinstance(within, float) else within[asked["dtype"]]
        if not apart <= allowed:
            lost = np.isfinite(want).all() and not np.isfinite(got).all()
            measured = f"{asked['case']}: apart by {apart:.1e} of the largest number (allowed {allowed:.1e})"
            measured += f", furthest at {_place(got, want, asked['shape'])}"
            said = HOLDS_NAN * bool(lost) + _reason(why, asked["case"])
            return Failed(measured, said, try_, shares(numbers=share(apart, allowed)))
        worst, most = max(worst, apart), max(most, share(apart, allowed))
    measured = f"{len(pair.baseline.values['cases'])} cases, apart by {worst:.1e} of the largest number at most"
    return Passed(measured, shares(numbers=most))


def same_calls(timed: Timed, within: float, *, why: str, try_: str) -> Verdict:
    """Pass when the numbers that the timed calls returned agree."""
    apart = furthest(timed.student.arrays["outputs"], timed.baseline.arrays["outputs"])
    measured = f"apart by {apart:.1e} of the largest number (allowed {within:.1e})"
    evidence = shares(numbers=share(apart, within))
    return Passed(measured, evidence) if apart <= within else Failed(measured, why, try_, evidence)


def furthest(got: Array, want: Array) -> float:
    """Return the largest difference over the largest finite number; infinite where NaN or infinity do not match."""
    if got.shape != want.shape:
        return float("inf")
    finite = np.isfinite(want)
    if not np.array_equal(got[~finite], want[~finite], equal_nan=True) or not np.isfinite(got[finite]).all():
        return float("inf")
    if not finite.any():
        return 0.0
    with np.errstate(all="ignore"):
        return float(np.max(np.abs(got[finite] - want[finite])) / max(np.max(np.abs(want[finite])), 1e-30))


def multiple(got: Array, want: Array, within: float) -> float | None:
    """Return how many times *want* each number of *got* is, where that is one number and not 1; else nothing."""
    if got.shape != want.shape or not np.isfinite(got).all():
        return None
    with np.errstate(all="ignore"):
        times = float(np.vdot(got, want) / np.vdot(want, want))
    alike = np.isfinite(times) and abs(times - 1) > within and furthest(got, times * want) <= within
    return times if alike else None


def unchanged(names: Sequence[str], *, try_: str) -> Verdict:
    """Pass when no input was changed; *names* are those that were."""
    if not names:
        return Passed("every input is what it was")
    return Failed(f"changed: {', '.join(names[:6])}", "an operation wrote into a tensor of the caller", try_)


def _cases(pair: Pair) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any], Array | None, Array]]:
    """Cut both sides' numbers into cases: the student's form and numbers beside those asked for."""
    got, want = pair.student.arrays["numbers"], pair.baseline.arrays["numbers"]
    cases, at = list(pair.student.values["cases"]), 0
    for i, asked in enumerate(pair.baseline.values["cases"]):
        end = at + int(np.prod(asked["shape"], dtype=np.int64))
        case = cases[i] if i < len(cases) else {"shape": [], "dtype": "nothing"}
        yield case, asked, got[at:end] if len(got) >= end else None, want[at:end]
        at = end


def _place(got: Array, want: Array, shape: Sequence[int]) -> list[int]:
    """Return the index of the number that is furthest from the right one; what is not finite is."""
    with np.errstate(all="ignore"):
        gaps = np.where((got == want) | (np.isnan(got) & np.isnan(want)), 0.0, np.abs(got - want))
    at = int(np.argmax(np.nan_to_num(gaps, nan=np.inf)))
    return [int(it) for it in np.unravel_index(at, tuple(shape))]


def _form(case: Mapping[str, Any]) -> str:
    return f"{case['dtype']} {tuple(case['shape'])}"


def _reason(why: Why, case: str) -> str:
    if isinstance(why, str):
        return why
    return next(words for part, words in why.items() if part in case)
