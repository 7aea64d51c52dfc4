"""Judges memory against a baseline that was measured the same way."""

from __future__ import annotations

from autograder.model import Bar, Failed, Passed, Unavailable, Verdict


def at_least_less(ratio: float | None, bar: Bar, *, unavailable: str, why: str, try_: str) -> Verdict:
    """Pass when the baseline's peak is at least `bar` times the student's; without a figure nobody is judged."""
    if ratio is None:
        return Unavailable(unavailable)
    measured = f"{ratio:.2f}x less than the baseline; the bar is {bar}"
    return Passed(measured) if ratio >= bar.value else Failed(measured, why, try_)
