"""Submissions that share what is rarely shared by chance: listed with the evidence for an instructor, never scored.

A mark is a run of words of a source, names and texts apart, or a measured number of a table. Work whose marks are all
the same, what was handed out apart, is one group, however many have it. Between groups, what many have in common says
nothing; what only a few have, and much of it, is worth a look.
"""

from __future__ import annotations

import keyword
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

from autograder.handed_in.tokens import Word, words

RUN = 16  # words of a mark: about two lines
FEW = 4  # submissions that share a mark by more than the lab; or this part of a large class:
PART = 0.05
LEAST = {"source": 40, "table": 4}  # marks that two share before they are listed
SHARE = 0.4  # of all marks of the shorter one
SHOWN = 6
MEASURED = re.compile(r"-?(?<!\d)\d++\.\d++(?:[eE][-+]?\d+)?")  # from where a run of digits begins
DIGITS = 5  # of a number that two measurements do not give alike

Files = Mapping[str, bytes]
Marks = dict[str, str]
"""A mark -> where it is."""


@dataclass(frozen=True)
class Likeness:
    """Submissions, one file, and what they share in it: a group whose work is the same, or two that are alike."""

    who: tuple[str, ...]
    file: str
    shared: int
    share: float
    """Of the marks of the one that has fewer."""
    evidence: tuple[str, ...]
    same: bool = False

    def __str__(self) -> str:
        """Say it in a line."""
        named = f"{', '.join(self.who[:-1])} and {self.who[-1]}"
        alike = f"{len(self.who)} the same" if self.same else f"{100 * self.share:.0f} %"
        return f"{named}: {self.file}: {self.shared} marks, {alike}: {'; '.join(self.evidence)}"


def find(submissions: Mapping[str, Files], handed_out: Files) -> list[Likeness]:
    """Compare every file with its namesakes: first those that are the same, the most of them first, then the alike."""
    names = {
        file for files in submissions.values() for file in files if file.endswith((".py", ".csv"))
    }
    found = [
        one
        for name in sorted(names)
        for one in _in_file(name, submissions, handed_out.get(name, b""))
    ]
    return sorted(found, key=lambda one: (not one.same, -len(one.who), -one.share, -one.shared))


def limit(submissions: int) -> int:
    """Say how many may share a mark at the most for it to tell anything of two of them."""
    return min(max(FEW, int(PART * submissions)), max(submissions - 1, 2))  # all of three are many


def _in_file(name: str, submissions: Mapping[str, Files], handed_out: bytes) -> Iterator[Likeness]:
    read, kind = (_runs, "source") if name.endswith(".py") else (_numbers, "table")
    known = read(handed_out)
    marks = {who: read(files[name]) for who, files in submissions.items() if name in files}
    groups = _groups(marks, known)
    for first, group in groups.items():
        own = marks[first].keys() - known.keys()
        if len(group) > 1 and len(own) >= LEAST[kind]:
            yield Likeness(
                group,
                name,
                len(own),
                1.0,
                _evidence(kind, marks[first], marks[group[1]], own),
                same=True,
            )
    yield from _alike(
        name, kind, {first: marks[first] for first in groups}, known, limit(len(marks))
    )


def _groups(marks: Mapping[str, Marks], known: Marks) -> dict[str, tuple[str, ...]]:
    """Put together who has the same of their own; the first of each stands for all of them."""
    found = defaultdict(list)
    for who in sorted(marks):
        found[frozenset(marks[who].keys() - known.keys())].append(who)
    return {group[0]: tuple(group) for group in found.values()}


def _alike(
    name: str, kind: str, marks: Mapping[str, Marks], known: Marks, most: int
) -> Iterator[Likeness]:
    spread = Counter(mark for own in marks.values() for mark in own)
    rare = {
        who: {mark for mark in own if mark not in known and spread[mark] <= most}
        for who, own in marks.items()
    }
    for one, other in _pairs(rare):
        both = rare[one] & rare[other]
        own = min(len(marks[who].keys() - known.keys()) for who in (one, other))
        if len(both) >= LEAST[kind] and len(both) / own >= SHARE:
            evidence = _evidence(kind, marks[one], marks[other], both)
            yield Likeness((one, other), name, len(both), round(len(both) / own, 3), evidence)


def _pairs(rare: Mapping[str, Iterable[str]]) -> list[tuple[str, str]]:
    """Name who shares anything at all, so that a large class is not compared each with each."""
    owners = defaultdict(list)
    for who, own in sorted(rare.items()):
        for mark in own:
            owners[mark].append(who)
    return sorted({pair for group in owners.values() for pair in combinations(group, 2)})


def _evidence(kind: str, one: Marks, other: Marks, both: Iterable[str]) -> tuple[str, ...]:
    if kind == "table":
        return tuple(f"{mark} ({one[mark]}, {other[mark]})" for mark in sorted(both)[:SHOWN])
    lines = sorted({(int(one[mark]), int(other[mark])) for mark in both})
    (first, there), (last, until) = lines[0], lines[-1]
    return (f"lines {first} to {last} and {there} to {until}",)


def _runs(source: bytes) -> Marks:
    """Each run of words, and the line where it begins; what is no Python is read all the same."""
    read = [(_word(word), word.line) for word in words(source.decode(errors="replace"))]
    # By their hashes, since a class of a thousand has millions of runs.
    runs = (
        (hash(tuple(word for word, _ in read[i : i + RUN])), read[i][1])
        for i in range(len(read) - RUN + 1)
    )
    return {f"{run:x}": str(line) for run, line in runs}


def _word(word: Word) -> str:
    """Take one name for another, and one text; a keyword, a number and a mark are what they are."""
    own = (
        word.kind == "name" and not word.string[0].isdigit() and not keyword.iskeyword(word.string)
    )
    return word.kind if own or word.kind == "text" else word.string


def _numbers(table: bytes) -> Marks:
    """Each measured number with as many digits as chance does not give twice, and its line."""
    lines = table.decode(errors="replace").splitlines()
    return {
        number: f"line {line}"
        for line, text in enumerate(lines, 1)
        for number in MEASURED.findall(text)
        if len(re.sub(r"[eE].*|\D", "", number).lstrip("0").rstrip("0")) >= DIGITS
    }
