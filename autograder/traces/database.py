"""A SQLite file that may be hostile.

Opened so that reading it runs nothing of it and ends.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

from autograder.errors import SubmissionError
from autograder.traces.source import Source

STEPS_AT_ONCE = 1_000_000
"""Instructions of SQLite's machine between two looks."""
MOST_LOOKS = 3_000
"""A file of 500 MB takes a tenth of that."""
LONGEST_VALUE = 1024 * 1024
"""In bytes."""
READING = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ}
NAMES = "StringIds"
"""A table that every export of nsys has."""
NO_EXPORT = (
    "is a database, and no export of nsys: "
    "hand in what nsys export --type sqlite REPORT.nsys-rep writes"
)
PRAGMAS = ("trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0", "temp_store = MEMORY")


class Database:
    """The tables of a file that a reader asked for, by name."""

    def __init__(self, connection: sqlite3.Connection, name: str) -> None:
        """Refuse what is no plain table."""
        self._connection = connection
        self._name = name
        self._looks = 0
        self._guard()
        schema = self._run("SELECT name, type, sql FROM sqlite_master")
        for item, kind, sql in schema:
            is_virtual = str(sql).upper().lstrip().startswith("CREATE VIRTUAL")
            if is_virtual or kind in ("view", "trigger"):
                raise SubmissionError(
                    f"{name}: holds '{str(item)[:60]}', a {kind} that nsys never writes; "
                    "export it again"
                )
        self.tables = {str(item) for item, kind, _ in schema if kind == "table"}
        if NAMES not in self.tables:
            raise SubmissionError(f"{name}: {NO_EXPORT}")

    def _guard(self) -> None:
        connection = self._connection
        for pragma in PRAGMAS:
            connection.execute(f"PRAGMA {pragma}")
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
        connection.text_factory = lambda data: data.decode("utf-8", "replace")
        connection.set_progress_handler(self._look, STEPS_AT_ONCE)
        connection.set_authorizer(_allowed)

    def _look(self) -> int:
        self._looks += 1
        return int(self._looks > MOST_LOOKS)

    def _run(self, sql: str) -> list[tuple[Any, ...]]:
        return list(self._rows(sql))

    def _rows(self, sql: str) -> Iterator[tuple[Any, ...]]:
        try:
            yield from self._connection.execute(sql)
        except (sqlite3.Error, UnicodeError) as error:
            # The latter where names of a damaged file are no UTF-8.
            raise SubmissionError(
                f"{self._name}: cannot be read as a database: {error}; export it again"
            ) from None

    def rows(self, table: str, *columns: str) -> Iterator[tuple[Any, ...]]:
        """Yield the columns of a table, NULL for those it lacks.

        Nothing for a missing table.
        """
        if table in self.tables:
            present = self.columns(table)
            names = [f'"{column}"' if column in present else "NULL" for column in columns]
            # All names are ours.
            yield from self._rows(f'SELECT {", ".join(names)} FROM "{table}"')  # noqa: S608

    def columns(self, table: str) -> dict[str, str]:
        """Return the columns of a table and their declared types."""
        return {str(row[1]): str(row[2]) for row in self._run(f'PRAGMA table_info("{table}")')}


@contextmanager
def opened(source: Source) -> Iterator[Database]:
    """Open a file for reading alone."""
    with source.unpacked() as path:
        connection = sqlite3.connect(f"file:{quote(str(path))}?mode=ro&immutable=1", uri=True)
        try:
            yield Database(connection, source.name)
        finally:
            connection.close()


def _allowed(
    action: int,
    first: str | None,
    _second: str | None,
    _database: str | None,
    _trigger: str | None,
) -> int:
    if action in READING or (action == sqlite3.SQLITE_PRAGMA and first == "table_info"):
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


def whole(value: Any) -> int | None:
    """Return a whole number of ordinary size: a column may hold anything."""
    return value if type(value) is int and -(2**61) < value < 2**61 else None
