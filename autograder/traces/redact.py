"""Writes a copy of a profile with what the figures need and nothing else.

No environment, host, paths or output.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from autograder.errors import UserError
from autograder.traces.database import Database, opened
from autograder.traces.jsonstream import stream
from autograder.traces.kineto import FACTS
from autograder.traces.source import Source, no_file

FOLDERS = re.compile(r"(?:[A-Za-z]:)?[\\/](?:[^\\/\s:\"']+[\\/])+")
HEADER = (
    "schemaVersion",
    "deviceProperties",
    "computeProperties",
    "distributedInfo",
    "baseTimeNanoseconds",
    "displayTimeUnit",
    *FACTS,
)
TABLES = re.compile(
    r"CUPTI_ACTIVITY_KIND_\w+|NVTX_EVENTS|TARGET_INFO_GPU|TARGET_INFO_SESSION_START_TIME|ENUM_\w+"
)
NAMES = ("demangledName", "shortName", "mangledName", "nameId", "textId")
EXPORT = ("EXPORT_PRODUCT_VERSION", "EXPORT_SCHEMA_VERSION")


def redact(path: Path) -> tuple[Path, str]:
    """Write the copy beside the file; return where it is and what was left out."""
    if problem := no_file(path):
        raise UserError(f"{path}: {problem}")
    source = Source(path)
    stem = path.name.removesuffix(".gz").rsplit(".", 1)[0]
    if source.form == "json":
        target = path.with_name(f"{stem}.redacted.json")
        return target, _trace(source, target)
    if source.form == "sqlite":
        target = path.with_name(f"{stem}.redacted.sqlite")
        return target, _export(source, target)
    raise UserError(
        f"{path.name}: no copy can be made of this kind; "
        "export it first (nsys export --type sqlite) and redact that"
    )


def without_paths(value: Any) -> Any:
    """Cut folders from every text: /home/ada/lab/train.py(12) becomes train.py(12)."""
    if isinstance(value, str):
        return FOLDERS.sub("", value)
    if isinstance(value, list):
        return [without_paths(item) for item in value]
    if isinstance(value, dict):
        return {name: without_paths(item) for name, item in value.items()}
    return value


def _trace(source: Source, target: Path) -> str:
    events, document = stream(source)
    with target.open("w", encoding="utf-8") as file:
        file.write('{"traceEvents": [\n')
        between = ""
        for event in events:
            if event.get("ph") != "M":  # names of processes and threads
                file.write(between + json.dumps(without_paths(event)))
                between = ",\n"
        file.write("\n]")
        for name in HEADER:
            if name in document.values:
                file.write(
                    f",\n{json.dumps(name)}: {json.dumps(without_paths(document.values[name]))}"
                )
        file.write("}\n")
    left = sorted(set(document.values) - set(HEADER))
    return "without the names of processes, folders" + (f", and {', '.join(left)}" if left else "")


def _export(source: Source, target: Path) -> str:
    target.unlink(missing_ok=True)
    with opened(source) as database:
        kept = sorted(name for name in database.tables if TABLES.fullmatch(name))
        copy = sqlite3.connect(target)
        try:
            used = {value for table in kept for value in _copied(database, copy, table)}
            names = (
                (key, without_paths(text))
                for key, text in database.rows("StringIds", "id", "value")
                if key in used
            )
            copy.execute("CREATE TABLE StringIds (id INTEGER, value TEXT)")
            copy.executemany("INSERT INTO StringIds VALUES (?, ?)", names)
            about = (
                row
                for row in database.rows("META_DATA_EXPORT", "name", "value")
                if row[0] in EXPORT
            )
            copy.execute("CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT)")
            copy.executemany("INSERT INTO META_DATA_EXPORT VALUES (?, ?)", about)
            copy.commit()
        finally:
            copy.close()
        left = sorted(name for name in database.tables - {*kept, "StringIds", "META_DATA_EXPORT"})
    return f"without {', '.join(left)}" if left else "it held nothing to leave out"


def _copied(database: Database, copy: sqlite3.Connection, table: str) -> Iterator[Any]:
    """Copy one table; yield the ids of the names that it uses."""
    columns = [name for name in database.columns(table) if re.fullmatch(r"\w+", name)]
    copy.execute(f'CREATE TABLE "{table}" ({", ".join(f"{name}" for name in columns)})')
    marks = ", ".join("?" for _ in columns)
    at = [i for i, name in enumerate(columns) if name in NAMES]
    for row in database.rows(table, *columns):
        kept = [without_paths(value) for value in row]
        # Names were matched.
        copy.execute(f'INSERT INTO "{table}" VALUES ({marks})', kept)  # noqa: S608
        yield from (row[i] for i in at)
