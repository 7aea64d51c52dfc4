"""A student's request for a second look: request.md in a hand-in, or a row of requests.csv beside the results.

A hand-in that came too late to be graded may have one, too.

Its first line that names a check says which one is meant. The answer is a decision of a person, with its reason, that
was made when the request was there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from autograder import sheet
from autograder.errors import nearest
from autograder.model import CheckResult
from autograder.results.overrides import BY_HAND, Override, by_hand
from autograder.results.standing import Standing

FILE = "request.md"
"""Beside a result: what the student wrote."""
LATER = "request-later.md"
"""Likewise, in an upload after the one that was graded."""
TABLE = "requests.csv"
COLUMNS = ("submission", "check", "text")
MARKS = "#*-_`: \t"
"""What people put around a check's name in Markdown."""


@dataclass(frozen=True)
class Request:
    """One student's words about one check."""

    submission: str
    home: Path
    asked: str
    """What the student calls the check."""
    text: str
    check: str = ""
    """part3_amp.follows_fp32; empty where the result has no such check."""
    result: CheckResult | None = None
    near: str = ""
    """What may have been meant."""
    answer: str = ""
    """What a person decided about the check when this request was there; empty while nobody did."""


def keep(home: Path, text: str, file: str = FILE) -> None:
    """Put a request beside its result, whether or not there is anything to grade."""
    home.mkdir(parents=True, exist_ok=True)
    sheet.replace(home / file, text.encode())


def answered(home: Path, made: Sequence[Override]) -> list[Override]:
    """Note on decisions about a result which requests are there: they are the answer to these, and to no later ones."""
    home = home.resolve()
    texts = [file.read_text(encoding="utf-8", errors="replace") for file in _files(home)]
    texts += [_words(row) for row in _rows(home.parent) if row["submission"] == home.name]
    there = tuple(map(_digest, texts))
    return [replace(decision, requests=there) for decision in made]


def read(folder: Path, standings: Sequence[Standing]) -> list[Request]:
    """Return the requests of a class, and those of the table beside its results."""
    requests = [request for standing in standings for request in of(standing)]
    by_name = {standing.result.submission: standing for standing in standings}
    for row in _rows(folder):
        if standing := by_name.get(row["submission"]):
            digest = _digest(_words(row))
            requests.append(_request(standing, row["check"], row.get("text", ""), digest))
    return requests


def of(standing: Standing) -> list[Request]:
    """Return what was handed in with a submission, and after it."""
    return [_read(standing, file) for file in _files(standing.home)]


def _read(standing: Standing, file: Path) -> Request:
    text = file.read_text(encoding="utf-8", errors="replace")
    return _request(standing, *asked_in(text, standing.result.checks), _digest(text))


def _files(home: Path) -> Iterator[Path]:
    return (home / name for name in (FILE, LATER) if (home / name).is_file())


def _rows(folder: Path) -> list[sheet.Row]:
    path = folder / TABLE
    return [row for _, row in sheet.read(path, COLUMNS[:2], COLUMNS)] if path.is_file() else []


def _words(row: sheet.Row) -> str:
    return f"{row['check']}\n{row.get('text', '')}"


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:12]


def forget(folder: Path, names: Sequence[str]) -> None:
    """Remove the rows of the table about these submissions."""
    path = folder / TABLE
    if path.is_file():
        kept = [row for row in _rows(folder) if row["submission"] not in names]
        sheet.write(path, COLUMNS, [[row.get(it, "") for it in COLUMNS] for row in kept])


def _request(standing: Standing, asked: str, text: str, digest: str) -> Request:
    result = standing.result
    name = named(asked, result.checks)
    near = "" if name else nearest(asked, result.checks)
    check = result.checks.get(name)
    decided = [check] if check else list(result.checks.values())
    answer = next((by_hand(it) for it in decided if _answers(it, digest, old=bool(check))), "")
    return Request(result.submission, standing.home, asked[:100], text, name, check, near, answer)


def _answers(check: CheckResult, digest: str, *, old: bool) -> bool:
    """Whether a decision about a check was made when the request was there; of *old* ones nobody knows."""
    noted = check.evidence.get(BY_HAND)
    if noted is None or noted["requests"] is None:
        return noted is not None and old
    return digest in noted["requests"]


def asked_in(text: str, checks: Collection[str]) -> tuple[str, str]:
    """Return the first line that names a check, else the first of all, and the other lines."""
    lines = text.strip().splitlines()
    names = [line.strip(MARKS) for line in lines]
    at = next((n for n, name in enumerate(names) if named(name, checks)), 0)
    rest = "\n".join([*lines[:at], *lines[at + 1 :]]).strip()
    return names[at] if names else "", rest


def named(asked: str, checks: Collection[str]) -> str:
    """Find the one check that is called so, with its part or without."""
    names = [name for name in checks if asked in (name, name.partition(".")[2])]
    return names[0] if len(names) == 1 else ""
