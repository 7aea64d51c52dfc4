"""Submissions that share what is rarely shared by chance.

They are listed with the evidence for an instructor, never scored. A mark is a run of words of a
source, names and texts apart, a measured number of a table, or a run of words of a text. Work
whose marks are all the same, what was handed out apart, is one group, however many have it.
Between groups, what many have in common says nothing; what only a few have, and much of it, is
worth a look.
"""

from __future__ import annotations

import keyword
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from autograder.handed_in.tokens import Word, words

RUN = 16
"""Words of a mark: about two lines."""
FEW = 4
"""Submissions that share a mark by more than the lab; or this part of a large class:"""
PART = 0.05
PHRASE = 8
"""Words of a mark of a text."""
LEAST = {"source": 40, "table": 4, "text": 20}
"""Marks that two share before they are listed."""
KINDS = {".py": "source", ".csv": "table", ".md": "text"}
SHARE = 0.4
"""Of all marks of the shorter one."""
SHOWN = 6
# From where a run of digits begins.
MEASURED = re.compile(r"-?(?<!\d)\d++\.\d++(?:[eE][-+]?\d+)?")
DIGITS = 5
"""Of a number that two measurements do not give alike."""

Files = Mapping[str, bytes]
Marks = dict[str, str]
"""A mark -> where it is."""


@dataclass(frozen=True)
class Likeness:
    """What submissions share in one file.

    A group with the same work, or two that are alike.
    """

    who: tuple[str, ...]
    file: str
    shared: int
    share: float
    """Of the marks of the one that has fewer."""
    evidence: tuple[str, ...]
    same: bool = False

    def __str__(self) -> str:
        """Return all of it in a line."""
        named = f"{', '.join(self.who[:-1])} and {self.who[-1]}"
        everybody = "both" if len(self.who) == 2 else f"all {len(self.who)}"
        alike = f"the same in {everybody}" if self.same else f"{100 * self.share:.0f} %"
        return f"{named}: {self.file}: {self.shared} marks, {alike}: {'; '.join(self.evidence)}"


def find(submissions: Mapping[str, Files], handed_out: Files) -> list[Likeness]:
    """Compare every file with its namesakes.

    First come those that are the same, the most of them first, then the alike.
    """
    names = {name for files in submissions.values() for name in files}
    likenesses: list[Likeness] = []
    for name in sorted(names):
        if name.endswith(tuple(KINDS)):
            likenesses += _in_file(name, submissions, handed_out.get(name, b""))
    return sorted(likenesses, key=_place)


def _place(likeness: Likeness) -> tuple[bool, int, float, int]:
    return not likeness.same, -len(likeness.who), -likeness.share, -likeness.shared


def limit(submissions: int) -> int:
    """Return how many may share a mark at the most for it to tell anything of two of them."""
    few = max(FEW, int(PART * submissions))
    # All of three are many.
    return min(few, max(submissions - 1, 2))


def _in_file(
    name: str,
    submissions: Mapping[str, Files],
    handed_out: bytes,
) -> Iterator[Likeness]:
    kind = next(kind for ending, kind in KINDS.items() if name.endswith(ending))
    read = {"source": _runs, "table": _numbers, "text": _phrases}[kind]
    public = read(handed_out)
    marks = {who: read(files[name]) for who, files in submissions.items() if name in files}
    groups = _groups(marks, public)
    for first, group in groups.items():
        own = marks[first].keys() - public.keys()
        if len(group) > 1 and len(own) >= LEAST[kind]:
            evidence = _evidence(kind, marks[first], marks[group[1]], own)
            yield Likeness(group, name, len(own), 1.0, evidence, same=True)
    single = {first: marks[first] for first in groups}
    yield from _alike(name, kind, single, public, limit(len(marks)))


def _groups(marks: Mapping[str, Marks], public: Marks) -> dict[str, tuple[str, ...]]:
    """Put together who has the same of their own.

    The first of each stands for all of them.
    """
    groups = defaultdict(list)
    for who in sorted(marks):
        groups[frozenset(marks[who].keys() - public.keys())].append(who)
    return {group[0]: tuple(group) for group in groups.values()}


def _alike(
    name: str,
    kind: str,
    marks: Mapping[str, Marks],
    public: Marks,
    most: int,
) -> Iterator[Likeness]:
    spread = Counter(mark for own in marks.values() for mark in own)
    rare = {
        who: {mark for mark in own if mark not in public and spread[mark] <= most}
        for who, own in marks.items()
    }
    for pair in _pairs(rare):
        first, second = pair
        both = rare[first] & rare[second]
        own = min(len(marks[who].keys() - public.keys()) for who in pair)
        share = len(both) / own
        if len(both) >= LEAST[kind] and share >= SHARE:
            evidence = _evidence(kind, marks[first], marks[second], both)
            yield Likeness(pair, name, len(both), round(share, 3), evidence)


def _pairs(rare: Mapping[str, Iterable[str]]) -> list[tuple[str, str]]:
    """Name who shares anything at all, so that a large class is not compared each with each."""
    owners = defaultdict(list)
    for who, own in sorted(rare.items()):
        for mark in own:
            owners[mark].append(who)
    return sorted({pair for group in owners.values() for pair in combinations(group, 2)})


def _evidence(
    kind: str,
    first: Marks,
    second: Marks,
    both: Iterable[str],
) -> tuple[str, ...]:
    if kind == "table":
        shown = sorted(both)[:SHOWN]
        return tuple(f"{mark} ({first[mark]}, {second[mark]})" for mark in shown)
    lines = sorted({(int(first[mark]), int(second[mark])) for mark in both})
    begin = lines[0]
    end = lines[-1]
    return (f"lines {begin[0]} to {end[0]} and {begin[1]} to {end[1]}",)


def _runs(source: bytes) -> Marks:
    """Return each run of words, and the line where it begins.

    What is no Python is read all the same.
    """
    read = [(_word(word), word.line) for word in words(source.decode(errors="replace"))]
    return _marks(read, RUN)


def _phrases(text: bytes) -> Marks:
    """Return each run of words of a text, and the line where it begins; capitals and signs say nothing."""
    lines = text.decode(errors="replace").splitlines()
    read = [
        (word, line)
        for line, said in enumerate(lines, 1)
        for word in re.findall(r"\w+", said.casefold())
    ]
    return _marks(read, PHRASE)


def _marks(read: Sequence[tuple[str, int]], length: int) -> Marks:
    """Return each run of so many words, and the line where it begins."""
    marks = {}
    for start in range(len(read) - length + 1):
        run = tuple(word for word, _ in read[start : start + length])
        # By its hash, since a class of a thousand has millions of runs.
        marks[f"{hash(run):x}"] = str(read[start][1])
    return marks


def _word(word: Word) -> str:
    """Take one name for another, and one text.

    A keyword, a number and a mark are what they are.
    """
    if word.kind == "text":
        return word.kind
    is_plain = word.string[0].isdigit() or keyword.iskeyword(word.string)
    return word.kind if word.kind == "name" and not is_plain else word.string


def _numbers(table: bytes) -> Marks:
    """Return each measured number with as many digits as chance does not give twice, and its
    line.
    """
    lines = table.decode(errors="replace").splitlines()
    return {
        number: f"line {line}"
        for line, text in enumerate(lines, 1)
        for number in MEASURED.findall(text)
        if len(_digits(number)) >= DIGITS
    }


def _digits(number: str) -> str:
    return re.sub(r"[eE].*|\D", "", number).lstrip("0").rstrip("0")
