"""Writes the tables of a handout: what is judged, from what judges it, and the columns of results, from their forms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from autograder.config import CheckConfig, PartConfig
from autograder.errors import CourseError
from autograder.lab import Check, Part

BEGIN, END = "<!-- BEGIN JUDGED -->", "<!-- END JUDGED -->"
HEADER = "| check | points | rests on | what must hold |\n|---|---|---|---|"
WAITS = "A check may be judged only when another one has passed, and until then it earns nothing:"


def with_table(text: str, part: Part, config: PartConfig) -> str:
    """Put the table where a handout has its place, and the columns of results where it has places for them."""
    told = _between(text, BEGIN, END, table(part, config))
    if told is None:
        raise CourseError(
            f"{part.id}.md: has no place for the table of its checks; add {BEGIN} and, below, {END}"
        )
    for form in part.tables:
        begin, end = (f"<!-- {word} COLUMNS {form.file} -->" for word in ("BEGIN", "END"))
        told = _between(told, begin, end, form.listed()) or told
    return told


def _between(text: str, begin: str, end: str, said: str) -> str | None:
    before, _, rest = text.partition(begin)
    _, there, after = rest.partition(end)
    return f"{before}{begin}\n{said}{end}{after}" if there else None


def table(part: Part, config: PartConfig) -> str:
    """Write a row for each check, and below them which waits for which."""
    rows = [_row(check, config.checks[check.name]) for check in part.checks.values()]
    rows += [
        _cells(name, points, "a person", f"{config.says[name]}.")
        for name, points in config.rubric.items()
    ]
    waits = "; ".join(_waiting(part))
    return "\n".join([HEADER, *rows, ""]) + f"\n{WAITS} {waits}.\n" * bool(waits)


def _row(check: Check, config: CheckConfig) -> str:
    title, bars = check.title, _bars(config)
    said = (
        title.replace("{bar}", bars)
        if "{bar}" in title or not bars
        else f"{title} The bar: {bars}."
    )
    return _cells(
        check.name, config.points, check.basis, f"{said} Owed on other devices." if bars else said
    )


def _cells(name: str, points: float, basis: str, said: str) -> str:
    return f"| `{name}` | {points:g} | {basis} | {said.replace('|', '&#124;')} |"


def _bars(config: CheckConfig) -> str:
    """Say what a check asks for on which tiers: 1.30x (cpu, t4) or 1.50x (hopper)."""
    alike = groupby(
        sorted(config.bar, key=lambda tier: (config.bar[tier], tier)),
        key=lambda tier: config.bar[tier],
    )
    return " or ".join(f"{bar:.2f}x ({', '.join(tiers)})" for bar, tiers in alike)


def _waiting(part: Part) -> Iterator[str]:
    """Name which checks wait for which."""
    waiting: dict[tuple[str, ...], list[str]] = {}
    for check in part.checks.values():
        waiting.setdefault(check.needs, []).append(check.name)
    return (f"{_listed(names)} after {_listed(needs)}" for needs, names in waiting.items() if needs)


def _listed(names: Sequence[str]) -> str:
    *others, last = (f"`{name}`" for name in names)
    return " and ".join(filter(None, (", ".join(others), last)))
