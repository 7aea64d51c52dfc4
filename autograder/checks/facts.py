"""Judges the results that a text states by a table: each is a figure of one row, or compares two rows by a column.

Some two of many rows are always about 1.3x apart, so rows that are compared are named around the result. A number in x
or % is of speed, or of what its sentence names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from autograder.checks.report import Stated

LOOSE = 0.1  # relative: of what is "about"
CLOSE = 0.005  # relative: of what was worked out from rounded figures
TOLD = ("x", "%")  # units that do not tell the column
SPEED = ""  # goes without saying
TIME = r"\btime\b|epoch|second|\d\s*m?s\b"
WAIT = r"wait|load|starv|stall|data"
WARM = r"warm|cold|buil[dt]|start"
# What no table has: a machine's memory, how much of something there was, the seconds of a whole run or of one step.
WHOLE_GB = re.compile(r"\d+ ?GB")
AMOUNT = re.compile(
    r"\s+(?:(?:as many|as much|more|fewer|less|larger|smaller|bigger|the)\s+)+(?:[a-z]+\s+)?"
    r"(?:steps?|updates?|batch(?:es)?|workers?|cores?|data|pixels?|parameters?|layers?|epochs?|samples|images)\b"
    r"(?!\s*(?:/|per) ?s)"
)
OF_A_RUN = re.compile(
    r"\b(?:runs?|script|program|comparison|altogether|in total|whole)\b"
    r"|\b(?:per|an?|each|every|one|single) (?:step|batch|iteration|image|sample|photo)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Fact:
    """Something that was measured, or follows from it."""

    value: float
    unit: str
    """samples/s, %, s, MB or x."""
    about: str
    words: str = SPEED
    """What a sentence about it says, as a pattern."""
    rows: frozenset[str] = frozenset()
    """The rows that have to be named beside it."""


def compared(
    rows: Sequence[Mapping[str, Any]], builds_on: Mapping[str, str], columns: Mapping[str, tuple[str, str]]
) -> Iterator[Fact]:
    """Yield what compares two rows; *builds_on* has their names in order, *columns* a unit and words for each.

    What is compared with the first row, and the one that another builds on, go without saying.
    """
    names = list(builds_on)
    for column, (unit, words) in columns.items():
        values = [row[column] for row in rows]
        if unit != "%":  # or else shares that are alike would make "less than 5 %" true of any share
            yield Fact(max(values) - min(values), unit, f"the spread of {column}", words)
        for (first, other), (second, row) in combinations(zip(names, rows, strict=True), 2):
            said = frozenset({first, second} - {builds_on[second]} if first != names[0] else ())
            about = f"{column} of {second} and {first}"
            yield Fact(abs(row[column] - other[column]), unit, f"the difference of {about}", words, said)
            for one, base in ((row[column], other[column]), (other[column], row[column])):
                if base > 0:
                    yield Fact(one / base, "x", f"the ratio of {about}", words, said)
                    yield Fact(100 * one / base, "%", f"the ratio of {about}", words, said)
                    yield Fact(100 * abs(one / base - 1), "%", f"the change between {about}", words, said)


def unfounded(said: Sequence[Stated], facts: Sequence[Fact], names: Mapping[str, str]) -> list[str]:
    """Name each result that does not follow, with the nearest that does; *names* maps each row to its pattern."""
    told = [one for one in said if not _aside(one)]
    return [f"line {one.line}: {one.said} ({why})" for one in told if (why := _odd(one, facts, names))]


def _aside(one: Stated) -> bool:
    """Whether a number says something that no table has."""
    before, _, after = one.sentence.partition(one.said)
    spread = before.rstrip().endswith(("±", "+/-"))
    runs = one.unit == "s" and OF_A_RUN.search(one.sentence)
    return bool(spread or runs or AMOUNT.match(after) or WHOLE_GB.fullmatch(one.said))


def _odd(one: Stated, facts: Sequence[Fact], names: Mapping[str, str]) -> str:
    """Say why a result does not follow, or nothing."""
    meant = _meant(one, [fact for fact in facts if fact.unit == one.unit])
    named = {row for row, pattern in names.items() if re.search(pattern, one.around)}
    possible = [fact for fact in meant if fact.rows <= named]
    if any(_is(one, fact) for fact in possible):
        return ""
    if not possible:
        return f"the table has nothing in {one.unit}"
    fact = min(possible, key=lambda it: abs(it.value - one.value))
    nearest = f"nearest: {fact.value:.4g} {fact.unit}, {fact.about}"
    other = None if one.relation in ("more", "less") else next((it for it in meant if _is(one, it)), None)
    return f"{nearest}; {other.value:.4g} {other.unit} is {other.about}: name both beside it" if other else nearest


def _meant(one: Stated, facts: Sequence[Fact]) -> list[Fact]:
    """Return the facts of speed and of what its sentence names, or all around it, if its unit does not tell."""
    if one.unit not in TOLD:
        return list(facts)
    known = {fact.words for fact in facts} - {SPEED}
    named = ({it for it in known if re.search(it, text, re.IGNORECASE)} for text in (one.sentence, one.around))
    words = {SPEED, *next(filter(None, named), ())}
    return [fact for fact in facts if fact.words in words]


def _is(one: Stated, fact: Fact) -> bool:
    """Whether a result is this fact, within its own rounding."""
    rounded = 0.0 if one.relation in ("more", "less") else one.half * 1.001
    within = max(rounded, abs(fact.value) * (LOOSE if one.relation == "about" else CLOSE))
    over, under = one.value >= fact.value - within, one.value <= fact.value + within
    return (over or one.relation == "more") and (under or one.relation == "less")
