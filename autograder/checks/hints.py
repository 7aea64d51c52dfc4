"""Gives a failure the hint for its cause, by the words with which it says it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from autograder.model import Failed, Verdict

Hints = Mapping[str, str]
"""What to try, by words that stand in what a failure says; the first that fits counts."""


def hinted(judged: Verdict, hints: Hints, see: str = "") -> Verdict:
    """Give a failure the hint for its cause; *see* names the section of the handout.

    A failure without such a hint keeps its own.
    """
    if not isinstance(judged, Failed):
        return judged
    hint = _hint(f"{judged.measured}; {judged.why}", hints, see)
    return replace(judged, try_=hint or judged.try_)


def caused(problem: str, hints: Hints, see: str = "") -> str | tuple[str, str]:
    """Return a problem with the hint for its cause, as the rule of a study does."""
    hint = _hint(problem, hints, see)
    return (problem, hint) if hint else problem


def _hint(said: str, hints: Hints, see: str) -> str:
    hint = next((hint for words, hint in hints.items() if words in said), "")
    return f"{hint}; {see}" if hint and see else hint
