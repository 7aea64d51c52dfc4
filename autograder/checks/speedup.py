"""Judges a speedup that a trusted clock measured."""

from __future__ import annotations

from autograder.model import Bar, Failed, Passed, Timed, Unavailable, Verdict


def at_least(timed: Timed, bar: Bar, *, why: str, try_: str) -> Verdict:
    """Pass a ratio at or above the bar; without a ratio nobody is judged."""
    if timed.ratio is None:
        return Unavailable(timed.unavailable or "no trusted clock compared the two sides")
    measured = f"{timed.ratio:.2f}x; the bar is {bar}"
    return Passed(measured) if timed.ratio >= bar.value else Failed(measured, why, try_)
