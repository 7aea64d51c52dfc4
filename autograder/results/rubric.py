"""What a person reads, as a sheet: an empty cell for each rubric item, beside what the student wrote, and read back.

Points from the sheet are set by hand like any others; a sheet that is read twice changes nothing the second time.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePath

from autograder import sheet
from autograder.checks.rendered import rendered
from autograder.errors import UserError
from autograder.grading.scoring import OUTCOMES
from autograder.model import CheckResult, PartResult
from autograder.part_name import number as part_number
from autograder.results.overrides import BY_HAND, Override, decide, wanted
from autograder.results.standing import Standing, kept

# 12 digits alone, or 123e45, a spreadsheet would rewrite; older sheets have them so.
HASH = "sha256 "
COLUMNS = (
    "submission",
    "item",
    "points",
    "of",
    "comment",
    "question",
    "written",
    "model",
    "checks",
    "files",
)
MARKS = re.compile(r"^<!-- (?:BEGIN|END) SOLUTION -->\n", re.MULTILINE)
Files = Mapping[str, bytes]
Models = Mapping[str, Files]
"""Lab -> the files of its reference."""
NO_MODELS: Models = {}
LONGEST = 8_000  # characters of one cell; Excel cuts at 32,767


def table(standings: Sequence[Standing], models: Models = NO_MODELS) -> str:
    """Write the sheet: fill in `points` and `comment`. What the reference says of a part stands under `model`."""
    return sheet.text(
        COLUMNS,
        (
            _row(standing, part, check, models.get(standing.result.lab, {}))
            for standing in standings
            for part, check in _to_read(standing)
        ),
    )


def is_read(standing: Standing) -> bool:
    """Whether a sheet has a row of it."""
    return any(_to_read(standing))


def read(
    path: Path, standings: Sequence[Standing], *, by: str, at: str
) -> list[tuple[Path, Override]]:
    """Read the sheet back, all of it or nothing: what has points and is not set so already, and whose home it is."""
    by_submission = {standing.result.submission: standing for standing in standings}
    made, wrong = [], []
    decided = set[tuple[str, str]]()
    for number, row in sheet.read(path, COLUMNS[:3], COLUMNS):
        if row["points"]:
            standing = by_submission.get(row["submission"])
            try:
                decision = _decision(row, standing, decided, by, at)
            except UserError as problem:
                wrong.append(f"{path}: row {number}: {problem}")
                continue
            if standing and decision:
                made.append((standing.home, decision))
    if wrong:
        raise UserError("\n".join(wrong))
    return made


def _decision(
    row: sheet.Row, standing: Standing | None, decided: set[tuple[str, str]], by: str, at: str
) -> Override | None:
    if standing is None:
        raise UserError(f"there is no result of '{row['submission']}'")
    if (item := (row["submission"], row["item"])) in decided:
        raise UserError(f"'{row['item']}' of '{row['submission']}' has points twice; keep one")
    decided.add(item)
    if row.get("files", "").removeprefix(HASH) not in ("", _files(standing).removeprefix(HASH)):
        raise UserError("the sheet is about other files than were graded; write a new one")
    items = {f"{part.id}.{check.id}": check for part, check in _items(standing)}
    if row["item"] not in items:
        raise UserError(f"'{row['item']}' is no item that a person reads")
    points = wanted(row["points"])
    reason = row.get("comment", "") or "read by a person"
    made = decide(standing.result, row["item"], points, reason, by=by, at=at)
    then = items[row["item"]].evidence.get(BY_HAND, {})
    there = (items[row["item"]].points, then.get("reason")) if then else (None, reason)
    return None if there == (points, reason) else made


def _items(standing: Standing) -> Iterator[tuple[PartResult, CheckResult]]:
    for part in standing.result.parts:
        yield from ((part, check) for check in part.checks if check.basis == "person")


def _to_read(standing: Standing) -> Iterator[tuple[PartResult, CheckResult]]:
    """Leave out notes that are missing or unwritten, of which nothing is to be read."""
    for part, check in _items(standing):
        if check.outcome == "unavailable" or BY_HAND in check.evidence:
            yield part, check


def _row(
    standing: Standing, part: PartResult, check: CheckResult, model: Files
) -> tuple[object, ...]:
    then = check.evidence.get(BY_HAND, {})
    points = check.points if then else ""
    machine = [
        f"{OUTCOMES[other.outcome]} {other.points:g}/{other.max_points:g} {other.id}"
        for other in part.checks
    ]
    item = f"{part.id}.{check.id}"
    first = (
        standing.result.submission,
        item,
        points,
        check.max_points,
        then.get("reason", ""),
        check.title,
    )
    parts = [it.id for it in standing.result.parts]
    texts = (written(files, part.id, parts) for files in (kept(standing.home), model))
    return (*first, *texts, "\n".join(machine), _files(standing))


def _files(standing: Standing) -> str:
    return f"{HASH}{standing.result.submission_sha256[:12]}"


def written(handed_in: Files, part: str, parts: Sequence[str]) -> str:
    """What is written for a part, as a reader sees it: part3_notes.md for part3_amp, else what is no part's."""
    files = {name: data.decode(errors="replace") for name, data in handed_in.items()}
    texts = {name: MARKS.sub("", text) for name, text in files.items() if name.endswith(".md")}
    prefixes = {_prefix(it) for it in [*parts, *(name for name in files if name.endswith(".py"))]}
    own = [text for name, text in texts.items() if _prefix(name) == _prefix(part)]
    own = own or [text for name, text in texts.items() if _prefix(name) not in prefixes]
    tables = {name: text for name, text in files.items() if name.endswith(".csv")}
    return "\n\n".join(_with_figures(text, tables) for text in own)[:LONGEST]


def _prefix(name: str) -> int | str:
    at = part_number(name)
    return PurePath(name).stem.partition("_")[0] if at is None else at


def _with_figures(text: str, tables: Mapping[str, str]) -> str:
    """Fill in the figures that a report names, from the table that has them; else leave it as it was handed in."""
    for name, rows in tables.items():
        with suppress(ValueError, csv.Error):
            return rendered(text, {PurePath(name).stem: list(csv.DictReader(rows.splitlines()))})
    return text
