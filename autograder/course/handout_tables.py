"""Writes the tables of a handout.

They are what is judged, from what judges it, and the columns of results, from their forms.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from autograder.config import CheckConfig, PartConfig
from autograder.errors import CourseError, nearest
from autograder.lab import Check, Part
from autograder.model import Basis

BEGIN = "<!-- BEGIN JUDGED -->"
END = "<!-- END JUDGED -->"
COLUMNS = r"<!-- BEGIN COLUMNS (\S+) -->"
HEADER = "| check | points | rests on | what must hold |\n|---|---|---|---|"
RESTS: Mapping[Basis, str] = {
    "outputs": "*outputs* compares your results with right ones on fresh inputs, "
    "or measures time and memory from outside.",
    "scripted": "*scripted* gives your code what the grader makes up, "
    "such as a clock or a profile.",
    "report": "*report* observes how your code works.",
    "artefact": "*artefact* reads a file that you submit.",
}
WAITS = "Some checks are judged only after another check has passed, and earn nothing until then:"


def with_table(text: str, part: Part, config: PartConfig) -> str:
    """Put each table where a handout has its place; columns of results need have none."""
    filled = _between(text, BEGIN, END, table(part, config))
    if filled is None:
        raise CourseError(
            f"{part.id}.md: has no place for the table of its checks; add {BEGIN} and, below, {END}"
        )
    forms = {form.file: form for form in part.tables}
    for name in re.findall(COLUMNS, filled):
        if name not in forms:
            raise CourseError(
                f"{part.id}.md: BEGIN COLUMNS {name}: the part has no such table"
                f"{nearest(name, forms)}; its tables: {', '.join(forms) or 'none'}"
            )
        begin, end = f"<!-- BEGIN COLUMNS {name} -->", f"<!-- END COLUMNS {name} -->"
        listed = _between(filled, begin, end, forms[name].listed())
        if listed is None:
            raise CourseError(f"{part.id}.md: {begin} is never closed; add {end} below it")
        filled = listed
    return filled


def _between(text: str, begin: str, end: str, content: str) -> str | None:
    before, _, rest = text.partition(begin)
    _, closing, after = rest.partition(end)
    return f"{before}{begin}\n{content}{end}{after}" if closing else None


def table(part: Part, config: PartConfig) -> str:
    """Write a row for each check, above them how they judge, below them which waits for which."""
    rows = [_row(check, config.checks[check.name]) for check in part.checks.values()]
    lines = [_how(part), "", HEADER, *rows]
    for name, points in config.rubric.items():
        lines.append(_cells(name, points, "a person", f"{config.says[name]}."))
    waits = "; ".join(_waiting(part))
    if waits:
        lines += ["", f"{WAITS} {waits}."]
    return "\n".join(lines) + "\n"


def _how(part: Part) -> str:
    bases = {check.basis for check in part.checks.values()}
    told = [told for basis, told in RESTS.items() if basis in bases]
    name = part.id.partition("_")[0]
    return " ".join([f"`pytest -k {name}` runs these checks.", *told])


def _row(check: Check, config: CheckConfig) -> str:
    bars = _bars(config)
    return _cells(
        check.name, config.points, check.basis, _described(check.title, bars, config.gpus)
    )


def _described(title: str, bars: str, gpus: int) -> str:
    if not bars:
        return title.replace("{bar}", bars)
    title = title.replace("{bar}", bars) if "{bar}" in title else f"{title} The bar: {bars}."
    return (
        f"{title} Needs {gpus} GPUs."
        if gpus > 1
        else f"{title} On other devices these points are owed."
    )


def _cells(name: str, points: float, basis: str, description: str) -> str:
    escaped = description.replace("|", "&#124;")
    return f"| `{name}` | {points:g} | {basis} | {escaped} |"


def _bars(config: CheckConfig) -> str:
    """Return the bars of a check and their tiers: 1.30x (cpu, t4) or 1.50x (hopper)."""
    tiers = sorted(config.bar, key=lambda tier: (config.bar[tier], tier))
    by_bar = groupby(tiers, key=lambda tier: config.bar[tier])
    return " or ".join(f"{bar:.2f}x ({', '.join(tiers)})" for bar, tiers in by_bar)


def _waiting(part: Part) -> Iterator[str]:
    """Name which checks wait for which."""
    waiting: dict[tuple[str, ...], list[str]] = {}
    for check in part.checks.values():
        if check.needs:
            waiting.setdefault(check.needs, []).append(check.name)
    for needs, names in waiting.items():
        yield f"{_listed(names)} after {_listed(needs)}"


def _listed(names: Sequence[str]) -> str:
    *others, last = (f"`{name}`" for name in names)
    return f"{', '.join(others)} and {last}" if others else last
