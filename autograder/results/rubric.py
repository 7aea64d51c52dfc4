"""What a person reads, as a sheet: an empty cell for each rubric item, beside what the student wrote, and read back.

Points from the sheet are set by hand like any others; a sheet that is read twice changes nothing the second time.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePath

from autograder import sheet
from autograder.checks.rendered import rendered
from autograder.errors import UserError
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
    "checks",
    "files",
)
LONGEST = 8_000  # characters of one cell; Excel cuts at 32,767


def table(standings: Sequence[Standing]) -> str:
    """Write the sheet: fill in `points` and `comment`."""
    return sheet.text(
        COLUMNS, (_row(one, part, check) for one in standings for part, check in _items(one))
    )


def read(
    path: Path, standings: Sequence[Standing], *, by: str, at: str
) -> list[tuple[Path, Override]]:
    """Read the sheet back, all of it or nothing: what has points and is not set so already, and whose home it is."""
    known = {one.result.submission: one for one in standings}
    made = []
    seen = set[tuple[str, str]]()
    for number, row in sheet.read(path, COLUMNS[:3], COLUMNS):
        if row["points"]:
            where = f"{path}: row {number}"
            one = known.get(row["submission"])
            if one is None:
                raise UserError(f"{where}: there is no result of '{row['submission']}'")
            if (item := (row["submission"], row["item"])) in seen:
                raise UserError(
                    f"{where}: '{row['item']}' of '{row['submission']}' has points twice; keep one"
                )
            seen.add(item)
            if decision := _decision(where, row, one, by, at):
                made.append((one.home, decision))
    return made


def _decision(where: str, row: sheet.Row, one: Standing, by: str, at: str) -> Override | None:
    if row.get("files", "").removeprefix(HASH) not in ("", _files(one).removeprefix(HASH)):
        raise UserError(
            f"{where}: the sheet is about other files than were graded; write a new one"
        )
    items = {f"{part.id}.{check.id}": check for part, check in _items(one)}
    if row["item"] not in items:
        raise UserError(f"{where}: '{row['item']}' is no item that a person reads")
    try:
        points = wanted(row["points"])
        reason = row.get("comment", "") or "read by a person"
        made = decide(one.result, row["item"], points, reason, by=by, at=at)
    except UserError as problem:
        raise UserError(f"{where}: {problem}") from None
    then = items[row["item"]].evidence.get(BY_HAND, {})
    there = (items[row["item"]].points, then.get("reason")) if then else (None, reason)
    return None if there == (points, reason) else made


def _items(one: Standing) -> Iterator[tuple[PartResult, CheckResult]]:
    for part in one.result.parts:
        yield from ((part, check) for check in part.checks if check.basis == "person")


def _row(one: Standing, part: PartResult, check: CheckResult) -> tuple[object, ...]:
    then = check.evidence.get(BY_HAND, {})
    points = check.points if then else ""
    machine = [
        f"{other.outcome} {other.points:g}/{other.max_points:g} {other.id}" for other in part.checks
    ]
    item = f"{part.id}.{check.id}"
    first = (
        one.result.submission,
        item,
        points,
        check.max_points,
        then.get("reason", ""),
        check.title,
    )
    return (*first, _written(one, part.id), "\n".join(machine), _files(one))


def _files(one: Standing) -> str:
    return f"{HASH}{one.result.submission_sha256[:12]}"


def _written(one: Standing, part: str) -> str:
    """What the student wrote for a part, as a reader sees it: part3_notes.md for part3_amp, else what is no part's."""
    files = {name: data.decode(errors="replace") for name, data in kept(one.home).items()}
    texts = {name: text for name, text in files.items() if name.endswith(".md")}
    parts = [_prefix(it.id) for it in one.result.parts]
    own = [text for name, text in texts.items() if _prefix(name) == _prefix(part)]
    own = own or [text for name, text in texts.items() if _prefix(name) not in parts]
    tables = {name: text for name, text in files.items() if name.endswith(".csv")}
    return "\n\n".join(_with_figures(text, tables) for text in own)[:LONGEST]


def _prefix(name: str) -> int | str:
    at = part_number(name)
    return name.removesuffix(".md").partition("_")[0] if at is None else at


def _with_figures(text: str, tables: Mapping[str, str]) -> str:
    """Fill in the figures that a report names, from the table that has them; else leave it as it was handed in."""
    for name, rows in tables.items():
        with suppress(ValueError, csv.Error):
            return rendered(text, {PurePath(name).stem: list(csv.DictReader(rows.splitlines()))})
    return text
