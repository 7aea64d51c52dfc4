"""Gives a failure the hint for its cause, by the words with which it says it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from autograder.checks.outputs import Causes
from autograder.model import Failed, Verdict

Hints = Mapping[str, str]
"""What to try, by words that stand in what a failure says; the first that fits counts."""

OTHER_UNIT: Hints = {
    "it is in seconds": "multiply by 1e3: the column holds milliseconds",
    "it is in milliseconds": "divide by 1e3: the column holds seconds",
    "it is in MiB": "divide the bytes by 1e6: the column holds MB",
    "it is in bytes": "divide the bytes by 1e6: the column holds MB",
}
"""For figures that are right but for their unit."""


def hinted(judged: Verdict, hints: Causes, see: str = "") -> Verdict:
    """Give a failure the hint for its cause; *see* names the section of the handout, unless the hint names one.

    A hint that is a tuple says why as well. A failure without a hint keeps its own.
    """
    if not isinstance(judged, Failed):
        return judged
    said = f"{judged.measured}; {judged.why}"
    found = next((it for words, it in hints.items() if words in said), "")
    why, hint = found if isinstance(found, tuple) else (judged.why, found)
    return replace(judged, why=why, try_=_seen(hint, see) or judged.try_)


def converted(problem: str) -> str:
    """Say how a figure comes to the unit of its column; nothing where another thing is wrong."""
    return next((hint for words, hint in OTHER_UNIT.items() if words in problem), "")


def caused(problem: str, hints: Hints, see: str = "") -> str | tuple[str, str]:
    """Return a problem with the hint for its cause, as the rule of a study does."""
    hint = _seen(next((it for words, it in hints.items() if words in problem), ""), see)
    return (problem, hint) if hint else problem


def _seen(hint: str, see: str) -> str:
    return f"{hint}; {see}" if hint and see and 'see "' not in hint else hint
