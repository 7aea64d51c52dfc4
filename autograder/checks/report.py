"""Judges a report: its headings, what is left to fill in, its points, and the figures that it names.

A figure is written by its name in the table, {AMP.speedup}; see `rendered`. Style is never judged.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import PurePath

from autograder.checks import rendered
from autograder.checks.rendered import QUOTED, Named
from autograder.model import Table, Text
from autograder.traces.words import many

FENCED = re.compile(r"```.*?(?:```|\Z)|<!--.*?(?:-->|\Z)", re.DOTALL)
HEADING = re.compile(
    r"^(#{1,6})[ \t]+(.*)$|^((?![-*+][ \t])[^\s|#>].*)\n(=|-)\4+[ \t]*$",
    re.MULTILINE,
)
PARAGRAPH = re.compile(r"(?:\A\s*|\n[ \t]*\n)(?=\S)")
ROW = re.compile(r"^[ \t]*\|", re.MULTILINE)
MARK = re.compile(r"^([ \t]*)(?:[-*+•]|\d{1,3}[.)])[ \t]+", re.MULTILINE)
NAMED = 12  # of what is wrong
MOST = 500  # places that are looked at
LEFT_OVER = re.compile(
    r"\*?Your answer here\.?\*?|\b(?:TODO|TBD|FIXME|XXX|lorem ipsum)\b"
    r"|\[(?:Description|Recommendation|Lesson|High|Medium|Low|evidence|your|fill|insert)\b[^\]\n]{0,200}\](?![(\[])"
    r"|(?-i:(?<![\w'])(?:[XYZ]\s?(?:x\b|%|samples\b|MB\b|s\b)|[XYZN]\shours?\b)|=\s?X\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Section:
    """A heading without its number, and all that stands below it, deeper headings included."""

    name: str
    start: int
    end: int


def sections(text: str) -> list[Section]:
    """Cut a report at its headings, which are underlined or begin with #."""
    marks = list(HEADING.finditer(FENCED.sub(_spaces, text)))
    levels = [_level(mark) for mark in marks]
    sections_so_far = []
    for at, (mark, level) in enumerate(zip(marks, levels, strict=True)):
        ends = (marks[it].start() for it in range(at + 1, len(marks)) if levels[it] <= level)
        name = (
            (mark[2] if mark[1] else mark[3]).replace("*", "").strip(" \t#").lstrip("0123456789.) ")
        )
        sections_so_far.append(Section(name, mark.end(), next(ends, len(text))))
    return sections_so_far


def _level(mark: re.Match[str]) -> int:
    return len(mark[1]) if mark[1] else "=-".index(mark[4]) + 1


def below(text: str, heading: str) -> str:
    """Return what stands below the headings that match a pattern; the title is one only if no other does."""
    every = sections(text)
    matching = [it for it in every if re.search(heading, it.name, re.IGNORECASE)]
    if len(matching) > 1 and matching[0] is every[0] and matching[0].end == len(text):
        matching = matching[1:]
    pieces, end = [], 0
    for it in matching:
        if it.start >= end:  # not within the one before
            pieces.append(text[it.start : it.end])
            end = it.end
    return "\n".join(pieces)


def gaps(text: str, asked: Mapping[str, str]) -> list[str]:
    """Say which headings are missing or have nothing below them; *asked* maps each to its pattern."""
    headings = [it.name for it in sections(text)]
    missing = [
        name
        for name, pattern in asked.items()
        if not any(re.search(pattern, it, re.IGNORECASE) for it in headings)
    ]
    empty = [
        name
        for name, pattern in asked.items()
        if name not in missing and not re.search(r"\w", _bare(below(text, pattern)))
    ]
    return [f"no heading '{name}'" for name in missing] + [
        f"nothing below '{name}'" for name in empty
    ]


def incomplete(text: str, asked: Mapping[str, str], least: int, most: int) -> tuple[str, str]:
    """Count the words of a text, and say what it lacks: headings, words, what was to be filled in; or nothing."""
    count = words(text)
    missing = gaps(text, asked)
    left = left_over(text)
    if left and not missing:
        return f"{many(len(left), 'place')} left to fill in", listed(left)
    measured = f"{count} words"
    if missing:
        measured = f"{len(asked) - len(missing)} of {len(asked)} headings with text, {measured}"
    if count < least or (not missing and count > most):
        missing.append(f"{least} to {most} words are expected, without tables and code blocks")
    return measured, listed(missing)


def left_over(text: str) -> list[str]:
    """Name what the template asked to be replaced and is still there, each with its line."""
    plain = QUOTED.sub(_spaces, text)
    return [
        f"line {_line(plain, it.start())}: {it[0]!r}"
        for it in islice(LEFT_OVER.finditer(plain), MOST)
    ]


def words(text: str) -> int:
    """Count words; those of code blocks, tables and names of figures are none."""
    lines = rendered.BRACES.sub("", FENCED.sub("", text)).splitlines()
    return sum(
        len(re.findall(r"[^\W\d_]{2,}", line))
        for line in lines
        if not line.lstrip().startswith("|")
    )


def figures(text: Text, table: Table, units: Mapping[str, str]) -> tuple[list[Named], list[str]]:
    """Return the figures that a report names, and what no table has: names, and typed numbers with a unit."""
    try:
        named = rendered.named(text.text, {PurePath(table.file).stem: table.rows})
    except ValueError as error:
        return [], str(error).splitlines()
    return named, rendered.contradicted(text.text, table.rows, units)


def names(text: str) -> int:
    """Count the figures that a text names, be there such ones or not."""
    return len(rendered.BRACES.findall(QUOTED.sub(_spaces, text)))


def points(text: str) -> list[list[str]]:
    """Return the points of a section, in each way that it can be cut.

    At the outermost marks of its lists; at paragraphs, each with the list below it; at its headings; at rows of tables.
    """
    plain = _bare(text)
    heads = [it.start() for it in HEADING.finditer(text)]
    marks = list(MARK.finditer(plain))
    least = min((len(mark[1].expandtabs(4)) for mark in marks), default=0)
    listed = [mark.start() for mark in marks if len(mark[1].expandtabs(4)) <= least + 1]
    leads = [it.end() for it in PARAGRAPH.finditer(plain) if not MARK.match(plain, it.end())]
    # Two are words before a list and after it.
    leads = leads if len(leads) > 2 or not listed else []
    rows = [it.start() for it in ROW.finditer(plain)]
    return [
        cut
        for cut in (
            _cut(plain, listed),
            _cut(plain, leads),
            _cut(text, heads),
            _cut(plain, rows),
        )
        if cut
    ]


def _cut(text: str, starts: Sequence[int]) -> list[str]:
    return [
        text[start:end].strip(" \t\n|")
        for start, end in zip(starts, [*starts[1:], len(text)], strict=False)
    ]


def _bare(text: str) -> str:
    """Return a text without its headings, and as long."""
    return HEADING.sub(_spaces, text)


def listed(wrong: Sequence[str]) -> str:
    """Name the first few of what is wrong, and how many there are besides."""
    more = len(wrong) - NAMED
    return "; ".join(wrong[:NAMED]) + (f"; and {more} more" if more > 0 else "")


def _spaces(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1
