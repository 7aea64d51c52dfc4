"""The words that terminal and pages share, so that one outcome is called by one name everywhere."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from autograder.grading.scoring import figure
from autograder.model import without_bonus

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from autograder.model import Basis, CheckResult, Outcome, Result, SettledBy

BASES: Mapping[Basis, str] = {
    "outputs": "outputs and times, taken from outside the submission's process",
    "scripted": "a script that runs beside the code and knows the answers; a program that reads them there could pass",
    "report": "what a recorder beside the code saw; a program that changes the recorder could pass",
    "artefact": "a file that was handed in",
    "person": "a person's reading",
}
RAISED = re.compile(r"(?:in the process of rank \d+: )?(\w+): .*?(\([\w.]+, line \d+\))", re.DOTALL)
"""An exception of the student's code: its kind and its line."""
MARKED: Sequence[Basis] = (
    "scripted",
    "report",
)  # on pages: a submission may deceive what stands beside it
SETTLED_BY: Mapping[SettledBy, str] = {
    "gpu": "another device",
    "again": "the grading machine",
    "person": "a person",
}
# They reorder what a reader sees. The joiners U+200C and U+200D stay: names in several scripts need them.
REORDERING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


points = figure


def time(seconds: float) -> str:
    """Show how long something took.

    >>> time(8.24), time(252.0), time(10_000.0)
    ('8.2 s', '4 min 12 s', '2 h 46 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes = round(seconds) // 60
    return (
        f"{minutes} min {round(seconds) % 60} s"
        if minutes < 60
        else f"{minutes // 60} h {minutes % 60} min"
    )


def bonus(result: Result) -> str:
    """Say what bonus parts won and how much of it counts; nothing where there are none."""
    usual = without_bonus(result.parts)
    parts = [part for part in result.parts if part not in usual]
    won, most = sum(part.score for part in parts), sum(part.max_score for part in parts)
    counts = f"{points(result.made_up)} of them in the score, where other parts lost points"
    return f"{points(won)} of {points(most)} points, {counts}" if parts else ""


def clean(text: str) -> str:
    """Replace what could steer a terminal or mislead a reader: control characters, half characters, reordering."""
    if text.isprintable():  # nearly all is, and what is replaced never
        return text
    return "".join(
        c if c in "\n\t" or _plain(c) else "\N{REPLACEMENT CHARACTER}"
        for c in text.replace("\r\n", "\n")
    )


def explained(outcome: Outcome, reason: str) -> str:
    """Say the reason of an outcome; a fault of the grader is said to be one."""
    if outcome == "error":
        return f"our fault, not yours: {reason or 'the check could not be run'}"
    return reason


def repeated(checks: Sequence[CheckResult]) -> Mapping[str, str]:
    """Name each check that says what one before it says, and that one: a mistake that fails ten is told once."""
    first: dict[tuple[str, ...], str] = {}
    named = {check.id: first.setdefault(_told(check), check.id) for check in checks if check.why}
    return {id_: before for id_, before in named.items() if before != id_}


def _told(check: CheckResult) -> tuple[str, ...]:
    """Return what a check says; of an exception its kind and its line, whatever the call was."""
    raised = RAISED.match(check.why)
    return raised.groups() if raised else (check.measured, check.why, check.try_)


def _plain(char: str) -> bool:
    return unicodedata.category(char) not in ("Cc", "Cs", "Zl", "Zp") and char not in REORDERING
