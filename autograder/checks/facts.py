"""Judges the results that a text states by a table: each is a figure of one row, or compares two rows.

Some two of many rows are always about 1.3x apart. So what compares rows is told precisely, or names them beside it.
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
DECIMALS = {"%": 1}  # of what is precise; 2 of other units
DIGITS = 0.0051  # relative: half a unit of the last of three digits
UNNAMED = (
    "; some two other rows are so far apart, as always: if you mean those, name them beside it or give three digits"
)


@dataclass(frozen=True)
class Fact:
    """Something that was measured, or follows from it."""

    value: float
    unit: str
    """samples/s, %, s, MB or x."""
    about: str
    rows: frozenset[str] = frozenset()
    """The rows that it compares, if it does."""


def compared(
    rows: Sequence[Mapping[str, Any]], key: str, units: Mapping[str, str], apart: Sequence[str] = ()
) -> Iterator[Fact]:
    """Yield what compares columns of two rows, of those *apart* only the difference; *key* is the column of names."""
    for column, unit in units.items():
        values = [row[column] for row in rows]
        if unit != "%":  # or else shares that are alike would make "less than 5 %" true of any share
            yield Fact(max(values) - min(values), unit, f"the spread of {column}")
        for other, row in combinations(rows, 2):
            names, about = frozenset((row[key], other[key])), f"{column} of {row[key]} and {other[key]}"
            yield Fact(abs(row[column] - other[column]), unit, f"the difference of {about}", names)
            for one, base in ((row[column], other[column]), (other[column], row[column])):
                if base > 0 and column not in apart:
                    yield Fact(one / base, "x", f"the ratio of {about}", names)
                    yield Fact(100 * one / base, "%", f"the ratio of {about}", names)
                    yield Fact(100 * abs(one / base - 1), "%", f"the change between {about}", names)


def unfounded(said: Sequence[Stated], facts: Sequence[Fact], names: Mapping[str, str]) -> list[str]:
    """Name each result that does not follow, with the nearest that does; *names* maps each row to its pattern.

    A coarse one has to be of one row, of rows that are named around it, or a precise one in fewer digits.
    """
    told = [Fact(one.value, one.unit, f"what line {one.line} says") for one in said if _precise(one)]
    return [f"line {one.line}: {one.said} ({why})" for one in said if (why := _odd(one, facts, told, names))]


def _odd(one: Stated, facts: Sequence[Fact], told: Sequence[Fact], names: Mapping[str, str]) -> str:
    """Say why a result does not follow, or nothing."""
    possible = facts
    if not _precise(one):
        named = {row for row, pattern in names.items() if re.search(pattern, one.around)}
        possible = [*(fact for fact in facts if fact.rows <= named), *told]
    if any(_is(one, fact) for fact in possible):
        return ""
    bound = one.relation in ("more", "less")  # which is true of something in any table
    unnamed = not bound and any(_is(one, fact) for fact in facts)
    return _nearest(one, possible) + UNNAMED * unnamed


def _precise(one: Stated) -> bool:
    """Whether a result is given to three digits, to two decimals, or to one of a percentage."""
    return not one.relation and (one.decimals >= DECIMALS.get(one.unit, 2) or one.half <= DIGITS * one.value)


def _is(one: Stated, fact: Fact) -> bool:
    """Whether a result is this fact, within its own rounding."""
    rounded = 0.0 if one.relation in ("more", "less") else one.half * 1.001
    within = max(rounded, abs(fact.value) * (LOOSE if one.relation == "about" else CLOSE))
    over, under = one.value >= fact.value - within, one.value <= fact.value + within
    return one.unit == fact.unit and (over or one.relation == "more") and (under or one.relation == "less")


def _nearest(one: Stated, facts: Sequence[Fact]) -> str:
    alike = [fact for fact in facts if fact.unit == one.unit]
    if not alike:
        return f"the table has nothing in {one.unit}"
    fact = min(alike, key=lambda it: abs(it.value - one.value))
    return f"nearest: {fact.value:.4g} {fact.unit}, {fact.about}"
