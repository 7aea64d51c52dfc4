"""Judges what a report says: its headings, what is left to fill in, and each result that it states.

A result is a number with a unit: x, %, s, ms, MB, GB or samples/s; a cell of a table has the unit of its column's
header, in brackets. What stands in `code`, in "quotation marks" or behind > is quoted: settings and figures from
elsewhere. A range is an expectation. Style is never judged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

QUOTED = re.compile(
    r"```.*?(?:```|\Z)|<!--.*?(?:-->|\Z)|^[ \t]*>.*?$|`[^`\n]*`|\"[^\"\n]{1,300}\"|“[^”\n]{1,300}”"
    r"|\]\([^)\n]{0,500}\)|https?://\S+",
    re.DOTALL | re.MULTILINE,
)
FENCED = re.compile(r"```.*?(?:```|\Z)|<!--.*?(?:-->|\Z)", re.DOTALL)
NUMBER = (
    r"(?:\d{1,3}(?:,\d{3}){1,4}|\d{1,12})(?:\.\d{1,9})?(?!\d)"  # bounded, as every repeat here: a report may be hostile
)
UNITS = {  # unit -> its spellings; how many of the first one it is
    "samples/s": (r"(?:samples|images)\s*(?:/\s*s(?:ec(?:ond)?)?|per\s+second|s⁻¹)", "samples/s", 1.0),
    "%": (r"%|per\s?cent", "%", 1.0),
    "ms": (r"ms|milliseconds?", "s", 1e-3),
    "s": (r"s|secs?|seconds?", "s", 1.0),
    "MB": (r"MB|megabytes?", "MB", 1.0),
    "GB": (r"GB|gigabytes?", "MB", 1e3),
    "x": (r"[x\u00d7](?!\s*\d)|-?fold|times(?=\s+(?:as|faster|slower|less|more))", "x", 1.0),
}
UNIT = "|".join(f"(?P<u{i}>{spelling})" for i, (spelling, _, _) in enumerate(UNITS.values()))
STATED = re.compile(
    rf"(?<![\w.,/])(?:(?P<low>{NUMBER})\s{{0,3}}(?:{UNIT.replace('?P<u', '?P<low')})?"
    rf"\s{{0,3}}(?P<joint>-|\u2013|to|and)\s{{0,3}})?"
    rf"(?P<number>{NUMBER})\s{{0,3}}(?:{UNIT})(?![\w/])"
)
FROM = re.compile(r"\bfrom\s+$", re.IGNORECASE)
BETWEEN = re.compile(r"\bbetween\s+$", re.IGNORECASE)
HEDGE = re.compile(
    r"(?:about|around|roughly|nearly|almost|some|over|approximately|more than|less than|~|≈)\s*$", re.IGNORECASE
)
MOST = 500  # results that are looked at, of sentences and of tables
LOOSE = 0.05  # relative: of what is "about"
CLOSE = 0.005  # relative: of what was worked out from rounded figures
LEFT_OVER = re.compile(
    r"\*?Your answer here\.?\*?|\b(?:TODO|TBD|FIXME|XXX|lorem ipsum)\b"
    r"|\[(?:Description|Recommendation|Lesson|High|Medium|Low|evidence|your|fill|insert)\b[^\]\n]{0,200}\](?!\()"
    r"|(?-i:(?<![\w'])[XYZN]\s?(?:x\b|%|samples\b|MB\b|hours?\b|s\b)|=\s?X\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Fact:
    """Something that was measured, or follows from it."""

    value: float
    unit: str
    """samples/s, %, s, MB or x."""
    about: str


@dataclass(frozen=True)
class Stated:
    """A result that a report states."""

    said: str
    value: float
    unit: str
    half: float
    """Half a unit of its last digit."""
    line: int
    hedged: bool = False

    def is_of(self, fact: Fact) -> bool:
        """Whether it is this one, within its own rounding."""
        loose = LOOSE if self.hedged else CLOSE
        return self.unit == fact.unit and abs(self.value - fact.value) <= max(
            self.half * 1.001, loose * abs(fact.value)
        )


def sections(text: str) -> dict[str, str]:
    """Cut a report at its headings, of any depth: heading without its number -> what stands below it."""
    blank = FENCED.sub(_spaces, text)
    marks = list(re.finditer(r"^#{1,6}[ \t]+(.*)$", blank, re.MULTILINE))
    ends = [*(mark.start() for mark in marks[1:]), len(text)][: len(marks)]
    bare = [mark[1].replace("*", "").strip(" \t#").lstrip("0123456789.) ") for mark in marks]
    found: dict[str, str] = {}
    for name, mark, end in zip(bare, marks, ends, strict=True):
        found[name] = found.get(name, "") + text[mark.end() : end]
    return found


def below(text: str, heading: str) -> str:
    """Return what stands below the headings that match a pattern."""
    return "\n".join(body for name, body in sections(text).items() if re.search(heading, name, re.IGNORECASE))


def gaps(text: str, asked: Mapping[str, str]) -> list[str]:
    """Say which headings are missing or have nothing below them; *asked* maps each to its pattern."""
    found = sections(text)
    missing = [name for name, one in asked.items() if not any(re.search(one, it, re.IGNORECASE) for it in found)]
    empty = [name for name, one in asked.items() if name not in missing and words(below(text, one)) == 0]
    return [f"no heading '{name}'" for name in missing] + [f"nothing below '{name}'" for name in empty]


def left_over(text: str) -> list[str]:
    """Name what the template asked to be replaced and is still there, each with its line."""
    plain = QUOTED.sub(_spaces, text)
    return [f"line {_line(plain, it.start())}: {it[0]!r}" for it in LEFT_OVER.finditer(plain)]


def words(text: str) -> int:
    """Count words; those of code and tables are none."""
    lines = FENCED.sub("", text).splitlines()
    return sum(len(re.findall(r"[^\W\d_]{2,}", line)) for line in lines if not line.lstrip().startswith("|"))


def items(text: str) -> list[str]:
    """Return the points of a list, or its paragraphs where there is no list."""
    listed = re.split(r"^[ \t]*(?:[-*+]|\d+[.)])[ \t]+", text, flags=re.MULTILINE)[1:]
    return [it.strip() for it in listed or re.split(r"\n[ \t]*\n", text) if it.strip()]


def stated(text: str) -> list[Stated]:
    """Return every result that a report states, in its order."""
    plain = QUOTED.sub(_spaces, text).replace("*", " ")
    found = (one for it in STATED.finditer(plain) for one in _stated(it, plain))
    return sorted([*islice(found, MOST), *islice(_cells(plain), MOST)], key=lambda one: one.line)


def _stated(match: re.Match[str], plain: str) -> Iterator[Stated]:
    """Yield a result; "from 10 to 20 s" is two, "10 to 20 s" and "between 10 and 20 s" are none."""
    said, unit, low = " ".join(match[0].split()), _unit(match, "u"), _unit(match, "low")
    before, line = plain[max(0, match.start() - 20) : match.start()], _line(plain, match.start())
    moved, listed = FROM.search(before), match["joint"] == "and" and not BETWEEN.search(before)
    if match["low"] and not moved and not listed:
        return
    hedged = bool(HEDGE.search(before))
    if match["low"] and (moved or low):
        yield _made(said, match["low"], low or unit, line, hedged=hedged)
    yield _made(said, match["number"], unit, line, hedged=hedged)


def _unit(match: re.Match[str], group: str) -> str:
    """Return the unit that a match names, or nothing."""
    return next((unit for i, unit in enumerate(UNITS) if match[f"{group}{i}"]), "")


def _made(said: str, digits: str, unit: str, line: int, *, hedged: bool = False) -> Stated:
    _, first, scale = UNITS[unit]
    decimals = len(digits.partition(".")[2])
    return Stated(said, float(digits.replace(",", "")) * scale, first, 0.5 * 10**-decimals * scale, line, hedged)


def _cells(plain: str) -> Iterator[Stated]:
    """Yield the bare numbers of tables whose header names a unit."""
    header: list[str] = []
    for line, row in enumerate(plain.splitlines(), 1):
        cells = [cell.strip() for cell in row.strip().strip("|").split("|")] if row.strip().startswith("|") else []
        for name, cell in zip(header, cells, strict=False):
            unit = re.search(rf"\((?:{UNIT})\)", name)
            if unit and re.fullmatch(NUMBER, cell):
                yield _made(f"{cell} {unit[0]}", cell, _unit(unit, "u"), line)
        header = (header or cells) if cells else []


def unfounded(said: Sequence[Stated], facts: Sequence[Fact]) -> list[str]:
    """Name each result that is no fact, with the nearest one of its unit."""
    return [f"line {one.line}: {one.said}{_nearest(one, facts)}" for one in said if not any(map(one.is_of, facts))]


def _nearest(one: Stated, facts: Sequence[Fact]) -> str:
    alike = [fact for fact in facts if fact.unit == one.unit]
    if not alike:
        return ""
    fact = min(alike, key=lambda it: abs(it.value - one.value))
    return f" (nearest: {fact.value:.4g} {fact.unit}, {fact.about})"


def _spaces(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1
