"""Judges what a report says: its headings, what is left to fill in, and each result that it states.

A result is a number with a unit: x, %, s, ms, MB, GB or samples/s; a cell of a table has the unit that the header of
its column or row names in brackets. What stands in `code`, in "quotation marks" or behind > is quoted: settings and
figures from elsewhere. A range is an expectation. Style is never judged.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

QUOTED = re.compile(
    r"```.*?(?:```|\Z)|<!--.*?(?:-->|\Z)|^[ \t]*>.*?$|`[^`\n]*`|\"[^\"\n]{1,300}\"|“[^”\n]{1,300}”"
    r"|\]\([^)\n]{0,500}\)|https?://\S+",
    re.DOTALL | re.MULTILINE,
)
FENCED = re.compile(r"```.*?(?:```|\Z)|<!--.*?(?:-->|\Z)", re.DOTALL)
HEADING = re.compile(r"^(#{1,6})[ \t]+(.*)$|^((?![-*+][ \t])[^\s|#>].*)\n(=|-)\4+[ \t]*$", re.MULTILINE)
PARAGRAPH = re.compile(r"(?:\A|\n[ \t]*\n)(?=\S)")
LINE, ROW = re.compile(r"^.*$", re.MULTILINE), re.compile(r"^[ \t]*\|", re.MULTILINE)
MARK = re.compile(r"^([ \t]*)(?:[-*+•]|\d{1,3}[.)])[ \t]+", re.MULTILINE)
PLAIN = str.maketrans("*_", "  ")  # what makes words bold
# Bounded, as every repeat here: a report may be hostile.
NUMBER = r"(?:\d{1,3}(?:[,' \u2019\u00a0\u2009\u202f]\d{3}){1,4}|\d{1,12})(?:\.\d{1,9})?(?!\d)"
UNITS = {  # unit -> its spellings; how many of the first one it is
    "samples/s": (
        r"(?:samples?|images?|imgs?)\s*(?:/\s*s(?:ec(?:ond)?)?|per\s+s(?:ec(?:ond)?)?|s⁻¹)",
        "samples/s",
        1.0,
    ),
    "%": (r"\\?%|per\s?cent", "%", 1.0),
    "ms": (r"ms|milliseconds?", "s", 1e-3),
    "s": (r"s|secs?|seconds?", "s", 1.0),
    "MB": (r"MB|megabytes?", "MB", 1.0),
    "GB": (r"GB|gigabytes?", "MB", 1e3),
    "x": (r"(?:[xX\u00d7]|\\times)(?!\s*\d)|-?fold|times", "x", 1.0),
}
UNIT = "|".join(f"(?P<u{i}>{spelling})" for i, (spelling, _, _) in enumerate(UNITS.values()))
ABOUT = r"about|around|roughly|nearly|almost|some|approximately|circa|ca\.|close to|just|~|≈"
STATED = re.compile(
    rf"(?<![\w.,/])(?:(?P<low>{NUMBER})\s{{0,3}}(?:{UNIT.replace('?P<u', '?P<low')})?"
    rf"\s{{0,3}}(?P<joint>->|[-\u2013→±]|to|and|vs\.?|versus|\+/-)\s{{0,3}}(?:{ABOUT})?\s{{0,3}})?"
    rf"(?P<number>{NUMBER})\s{{0,3}}(?:{UNIT})(?![\w/])"
)
FACTOR = re.compile(
    rf"\b(?:factor|speed-?\s?up|gain)s?\s*(?:of|is|was|=|:)?\s*(?P<about>{ABOUT})?\s*[x\u00d7]?\s*(?P<number>{NUMBER})"
    r"(?!\w|\.\d|\s+(?:workers|cores|epochs|batches|runs)\b|\s*(?:to|-|\u2013|->|→)\s*\d"
    rf"|\s{{0,3}}(?:{UNIT.replace('?P<u', '?P<not')})(?![\w/]))",
    re.IGNORECASE,
)
COUNT = re.compile(r"\d+ times(?!\s+(?:as|faster|slower|less|more|higher|lower|better))")  # 3 times in a row
END = re.compile(r"[.!?;](?=\s)|\n[ \t]*(?=\n|[-*+•|]|\d{1,3}[.)]\s)")
DECIMALS = r"(?![1-9]\d{0,2},\d{3}(?!\d))(?:\d{1,3}(?:\.\d{3}){1,4}|\d{1,12}),\d{1,9}"  # behind a comma
COMMA = re.compile(rf"(?<![\w.,/]){DECIMALS}\s{{0,3}}(?:{UNIT})(?![\w/])")
BRACKETED = re.compile(rf"[(\[](?:{UNIT})[)\]]")
FROM = re.compile(r"\bfrom\b[^.,;:\d\n]{0,40}$", re.IGNORECASE)
BETWEEN = re.compile(r"\bbetween\s+$", re.IGNORECASE)
MORE, LESS = r"(?:more|larger|longer|higher|greater)", r"(?:less|fewer|smaller|shorter|lower)"
RELATIONS = {  # what stands before a number -> its relation to what was measured
    "more": rf"\b(?:(?<!no )(?<!not ){MORE} than|not? {LESS} than|over|above|at least|beats|exceed(?:s|ed)?)|[>≥]",
    "less": rf"\b(?:not? {MORE} than|(?<!no )(?<!not ){LESS} than|under|below|up to|at most|within)|[<≤]",
    "about": rf"(?<!\w)(?:{ABOUT})",
}
NOTHING = re.compile(r"\b(?:none|nothing|nobody|never|no)\b(?! more| less)[^.,;:]*$", re.IGNORECASE)  # ... over 2x
RELATION = re.compile("|".join(f"(?P<{name}>(?:{words})\\s*$)" for name, words in RELATIONS.items()), re.IGNORECASE)
NAMED = 12  # of what is wrong
WIDE = 4000  # characters of what stands around a result
MOST = 500  # results that are looked at, of sentences and of tables
LEFT_OVER = re.compile(
    r"\*?Your answer here\.?\*?|\b(?:TODO|TBD|FIXME|XXX|lorem ipsum)\b"
    r"|\[(?:Description|Recommendation|Lesson|High|Medium|Low|evidence|your|fill|insert)\b[^\]\n]{0,200}\](?![(\[])"
    r"|(?-i:(?<![\w'])(?:[XYZ]\s?(?:x\b|%|samples\b|MB\b|s\b)|[XYZN]\shours?\b)|=\s?X\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Stated:
    """A result that a report states."""

    said: str
    value: float
    unit: str
    half: float
    """Half a unit of its last digit."""
    at: int
    relation: str = ""
    """What was measured is "about" it, "less" or "more" than it, or it."""
    line: int = 0
    around: str = ""
    """Its paragraph, point or row of a table, and the headings above."""
    sentence: str = ""
    """Its sentence, or the names of a table's column and row; nothing in a row's text."""


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
    found = []
    for at, (mark, level) in enumerate(zip(marks, levels, strict=True)):
        ends = (marks[it].start() for it in range(at + 1, len(marks)) if levels[it] <= level)
        name = (mark[2] if mark[1] else mark[3]).replace("*", "").strip(" \t#").lstrip("0123456789.) ")
        found.append(Section(name, mark.end(), next(ends, len(text))))
    return found


def _level(mark: re.Match[str]) -> int:
    return len(mark[1]) if mark[1] else "=-".index(mark[4]) + 1


def below(text: str, heading: str) -> str:
    """Return what stands below the headings that match a pattern; the title is one only if no other does."""
    every = sections(text)
    found = [it for it in every if re.search(heading, it.name, re.IGNORECASE)]
    if len(found) > 1 and found[0] is every[0] and found[0].end == len(text):
        found = found[1:]
    pieces, end = [], 0
    for it in found:
        if it.start >= end:  # not within the one before
            pieces.append(text[it.start : it.end])
            end = it.end
    return "\n".join(pieces)


def gaps(text: str, asked: Mapping[str, str]) -> list[str]:
    """Say which headings are missing or have nothing below them; *asked* maps each to its pattern."""
    found = [it.name for it in sections(text)]
    missing = [name for name, one in asked.items() if not any(re.search(one, it, re.IGNORECASE) for it in found)]
    empty = [
        name for name, one in asked.items() if name not in missing and not re.search(r"\w", _bare(below(text, one)))
    ]
    return [f"no heading '{name}'" for name in missing] + [f"nothing below '{name}'" for name in empty]


def left_over(text: str) -> list[str]:
    """Name what the template asked to be replaced and is still there, each with its line."""
    plain = QUOTED.sub(_spaces, text)
    return [f"line {_line(plain, it.start())}: {it[0]!r}" for it in islice(LEFT_OVER.finditer(plain), MOST)]


def words(text: str) -> int:
    """Count words; those of code and tables are none."""
    lines = FENCED.sub("", text).splitlines()
    return sum(len(re.findall(r"[^\W\d_]{2,}", line)) for line in lines if not line.lstrip().startswith("|"))


def points(text: str) -> list[list[str]]:
    """Return the points of a section, in each way that it can be cut.

    At the outermost marks of its lists; at paragraphs, each with the list below it; at its headings; at rows of tables.
    """
    plain, heads = _bare(text), [it.start() for it in HEADING.finditer(text)]
    marks = list(MARK.finditer(plain))
    least = min((len(mark[1].expandtabs(4)) for mark in marks), default=0)
    listed = [mark.start() for mark in marks if len(mark[1].expandtabs(4)) <= least + 1]
    leads = [it.end() for it in PARAGRAPH.finditer(plain) if not MARK.match(plain, it.end())]
    leads = leads if len(leads) > 2 or not listed else []  # two are words before a list and after it
    rows = [it.start() for it in ROW.finditer(plain)]
    return [cut for cut in (_cut(plain, listed), _cut(plain, leads), _cut(text, heads), _cut(plain, rows)) if cut]


def _cut(text: str, starts: Sequence[int]) -> list[str]:
    return [text[start:end].strip(" \t\n|") for start, end in zip(starts, [*starts[1:], len(text)], strict=False)]


def _bare(text: str) -> str:
    """Return a text without its headings, and as long."""
    return HEADING.sub(_spaces, text)


def stated(text: str) -> list[Stated]:
    """Return every result that a report states, in its order."""
    plain = QUOTED.sub(_spaces, text).translate(PLAIN)
    found = (one for it in STATED.finditer(plain) for one in _stated(it, plain))
    factors = (
        _made(it[0], it["number"], "x", it.start(), "about" * bool(it["about"])) for it in FACTOR.finditer(plain)
    )
    cells = (it for it in _cells(plain) if re.fullmatch(NUMBER, it[0]))
    bare = (_made(f"{cell} {unit[0]}", cell, _unit(unit, "u"), at, names=names) for cell, unit, at, names in cells)
    read = [*islice(found, MOST), *islice(factors, MOST), *islice(bare, MOST)]
    around, sentence = _around(text), _sentences(plain)
    return [
        replace(one, line=_line(plain, one.at), around=around(one.at), sentence=one.sentence or sentence(one.at))
        for one in sorted(read, key=lambda one: one.at)
    ]


def _sentences(plain: str) -> Callable[[int], str]:
    """Return what tells the sentence around a place; a row of a table is none."""
    starts = [0, *(it.end() for it in END.finditer(plain)), len(plain)]

    def sentence(at: int) -> str:
        number = bisect_right(starts, at)
        found = " ".join(plain[starts[number - 1] : min(starts[number], starts[number - 1] + WIDE)].split())
        return "" if found.count("|") > 1 else found

    return sentence


def commas(text: str) -> list[str]:
    """Name results with a comma where a point is asked for, each with its line; 1,140 is a number of thousands."""
    plain = QUOTED.sub(_spaces, text).translate(PLAIN)
    found = [(it.start(), " ".join(it[0].split())) for it in islice(COMMA.finditer(plain), MOST)]
    found += [(at, cell) for cell, _, at, _ in islice(_cells(plain), MOST) if re.fullmatch(DECIMALS, cell)]
    return [f"line {_line(plain, at)}: {said}" for at, said in sorted(found)]


def _around(text: str) -> Callable[[int], str]:
    """Return what tells the words around a place: its paragraph, point or row of a table, and the headings above."""
    heads = {it.start(): it for it in HEADING.finditer(FENCED.sub(_spaces, text))}
    outer = [it.start() for it in MARK.finditer(text) if len(it[1]) <= 1]
    cuts = {0, *heads, *(it.end() for it in [*heads.values(), *PARAGRAPH.finditer(text)]), *outer}
    starts = sorted(cuts | {it.start() for it in ROW.finditer(text)})
    pieces, above, header = [], dict[int, str](), ""
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        piece = text[start : min(end, start + WIDE)]
        if head := heads.get(start):
            above = {level: name for level, name in above.items() if level < _level(head)} | {_level(head): piece}
        header = (header or piece) if ROW.match(piece) else ""
        pieces.append((*above.values(), header, piece))
    return lambda at: " ".join(pieces[bisect_right(starts, at) - 1])


def _stated(match: re.Match[str], plain: str) -> Iterator[Stated]:
    """Yield a result; "from 10 to 20 s" and "10 -> 20 s" are two, "10 to 20 s" and "between 10 and 20 s" are none."""
    said, unit, low, joint = match[0], _unit(match, "u"), _unit(match, "low"), match["joint"]
    if COUNT.match(plain, match.start("number")):
        return
    before, at = plain[max(0, match.start() - 60) : match.start()], match.start()
    related = RELATION.search(before)
    relation = (related and related.lastgroup) or ""
    if NOTHING.search(before):
        relation = {"more": "less", "less": "more"}.get(relation, relation)
    spread = joint in ("±", "+/-")
    both = spread or FROM.search(before) or joint in ("->", "→", "vs", "vs.", "versus")
    if match["low"] and not both and (joint != "and" or BETWEEN.search(before)):
        return
    if match["low"] and (both or low):
        yield _made(said, match["low"], low or unit, at, relation)
    if not spread:
        yield _made(said, match["number"], unit, at, relation)


def _unit(match: re.Match[str], group: str) -> str:
    """Return the unit that a match names, or nothing."""
    return next((unit for i, unit in enumerate(UNITS) if match[f"{group}{i}"]), "")


def _made(said: str, digits: str, unit: str, at: int, relation: str = "", names: str = "") -> Stated:
    _, first, scale = UNITS[unit]
    decimals, value = len(digits.partition(".")[2]), float(re.sub(r"[^\d.]", "", digits))
    return Stated(
        " ".join(said.split()), value * scale, first, 0.5 * 10**-decimals * scale, at, relation, sentence=names
    )


def _cells(plain: str) -> Iterator[tuple[str, re.Match[str], int, str]]:
    """Yield cells of tables whose column's or row's name has a unit; with that, their place, and both names."""
    header: list[str] = []
    for line in LINE.finditer(plain):
        row = line[0].strip()
        cells = [cell.strip() for cell in row.strip("|").split("|")] if row.startswith("|") else []
        for name, cell in zip(header, cells, strict=False):
            unit = BRACKETED.search(name) or BRACKETED.search(cells[0])
            if unit:
                yield cell, unit, line.start(), f"{name} {cells[0]}"
        header = (header or cells) if cells else []


def listed(wrong: Sequence[str]) -> str:
    """Name the first few of what is wrong, and how many there are besides."""
    more = len(wrong) - NAMED
    return "; ".join(wrong[:NAMED]) + (f"; and {more} more" if more > 0 else "")


def _spaces(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1
